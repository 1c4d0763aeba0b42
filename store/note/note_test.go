package note

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The key of the tests, made of a seed of zeros.
var (
	testKey   = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	authorKey = NewKey("waybill/x", testKey.Public().(ed25519.PublicKey))
)

func TestANoteIsVerified(t *testing.T) {
	signed := Sign([]byte("a\nb\n"), "waybill/x", testKey)
	n, err := Parse(signed)
	if err != nil || string(n.Text) != "a\nb\n" || n.Signatures[0].Name != "waybill/x" {
		t.Fatalf("%+v, %v", n, err)
	}
	if _, err := n.Verify(authorKey); err != nil {
		t.Error(err)
	}
}

// Whatever byte is changed, the note is refused, or says something else than it did: nothing else verifies.
func TestEveryChangedByteIsSeen(t *testing.T) {
	signed := Sign([]byte("a\nb\n"), "waybill/x", testKey)
	for i := range signed {
		for bit := range 8 {
			changed := bytes.Clone(signed)
			changed[i] ^= 1 << bit
			n, err := Parse(changed)
			if err == nil {
				_, err = n.Verify(authorKey)
			}
			if err == nil {
				t.Errorf("bit %d of byte %d is changed unseen: %q", bit, i, changed)
			}
		}
	}
}

func TestWhatIsWrongWithANoteIsSaid(t *testing.T) {
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	good := string(Sign([]byte("a\n"), "x", testKey))
	id := NewKey("x", testKey.Public().(ed25519.PublicKey)).id()
	forged := base64.StdEncoding.EncodeToString(append(id, make([]byte, ed25519.SignatureSize)...))
	for text, want := range map[string]error{
		"":                                      ErrForm,
		"a\n":                                   ErrForm,
		good + "more\n":                         ErrForm,
		"a\n\n— x ####\n":                       ErrSignatureForm,
		"a\n\n— x AAAA\n":                       ErrSignatureForm,
		"a\n\n— x " + forged + "\n":             ErrSignature,
		string(Sign([]byte("a\n"), "x", other)): ErrOtherKey,
		string(Sign([]byte("a\n"), "y", testKey)):                   ErrNotSigned,
		"a\n\n" + strings.Repeat("— y AAAAAA==\n", MaxSignatures+1): ErrForm,
		strings.Repeat("a", MaxNote) + good:                         ErrForm,
		strings.Replace(good, "— x", "— x\x90", 1):                  ErrEncoding,
	} {
		n, err := Parse([]byte(text))
		if err == nil {
			_, err = n.Verify(NewKey("x", testKey.Public().(ed25519.PublicKey)))
		}
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// The examples of the specifications: a signed note with its verifier key, and a checkpoint with a
// cosignature, whose key is not known and whose form is.
func TestTheSpecificationsExamples(t *testing.T) {
	key, err := ParseKey("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
	if err != nil || key.IsWitness() {
		t.Fatal(key, err)
	}
	n, err := Parse(
		[]byte("This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq" +
			"6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Verify(key); err != nil {
		t.Error(err)
	}
}

// cosign signs a text as a witness does, as tlog-cosignature says it, apart from the package's own code.
func cosign(name string, text []byte, seconds uint64) string {
	public := testKey.Public().(ed25519.PublicKey)
	id := sha256.Sum256(slices.Concat([]byte(name), []byte("\n\x04"), public))
	message := slices.Concat(fmt.Appendf(nil, "cosignature/v1\ntime %d\n", seconds), text)
	signature := slices.Concat(
		id[:4],
		binary.BigEndian.AppendUint64(nil, seconds),
		ed25519.Sign(testKey, message),
	)
	return "— " + name + " " + base64.StdEncoding.EncodeToString(signature) + "\n"
}

// A witness's signature stands below the author's, and says when it was made. One that is not the witness's,
// or is of another text or time, makes the whole note bad.
func TestACosignatureIsVerified(t *testing.T) {
	text := []byte("waybill/x\n1\nroot\n")
	signed := Sign(text, "waybill/x", testKey)
	witness := NewWitnessKey("w.example", testKey.Public().(ed25519.PublicKey))
	if again, err := ParseKey(witness.String()); err != nil || !again.Equal(witness) ||
		again.Equal(authorKey) {
		t.Fatal(witness, err)
	}
	const seconds = 1679315147
	for name, c := range map[string]struct {
		line string
		want error
	}{
		"as it should be": {cosign("w.example", text, seconds), nil},
		"none":            {"", ErrNotSigned},
		"of another":      {cosign("v.example", text, seconds), ErrNotSigned},
		"other text":      {cosign("w.example", []byte("waybill/x\n2\nroot\n"), seconds), ErrSignature},
		"time too late":   {cosign("w.example", text, 1<<63), ErrSignatureForm},
	} {
		n, err := Parse(append(bytes.Clone(signed), c.line...))
		if err != nil {
			t.Fatal(name, err)
		}
		at, err := n.Verify(witness)
		if !errors.Is(err, c.want) || err == nil && at.Unix() != seconds {
			t.Errorf("%s: %v, %v; want %v", name, at, err, c.want)
		}
		if _, err := n.Verify(authorKey); err != nil {
			t.Errorf("%s: the author's: %v", name, err)
		}
	}
}

// Of two signatures of one key both must be good, whichever stands first: a note that a known key seems to
// have signed and has not is not good.
func TestABadSignatureBesideAGoodOneIsSeen(t *testing.T) {
	text := "a\nb\n"
	good := string(authorKey.line(ed25519.Sign(testKey, []byte(text))))
	bad := string(authorKey.line(ed25519.Sign(testKey, []byte("other\n"))))
	for lines, want := range map[string]error{
		good + good: nil,
		bad + good:  ErrSignature,
		good + bad:  ErrSignature,
	} {
		n, err := Parse([]byte(text + "\n" + lines))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Verify(authorKey); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", lines, err, want)
		}
	}
}

// A key signs in one way: an author's key takes no cosignature, and a witness's no signature without a time,
// also where both are the same numbers.
func TestAKeyTakesSignaturesOfItsOwnKindOnly(t *testing.T) {
	text := []byte("a\nb\n")
	public := testKey.Public().(ed25519.PublicKey)
	const seconds = 1679315147
	plain := ed25519.Sign(testKey, text)
	timed := binary.BigEndian.AppendUint64(nil, seconds)
	timed = append(timed, ed25519.Sign(testKey, cosigned(text, seconds))...)
	for _, key := range []Key{NewKey("x", public), NewWitnessKey("x", public)} {
		for _, signature := range [][]byte{plain, timed} {
			n, err := Parse(fmt.Appendf(nil, "%s\n%s", text, key.line(signature)))
			if err != nil {
				t.Fatal(err)
			}
			own := key.IsWitness() == (len(signature) == len(timed))
			if _, err := n.Verify(key); (err == nil) != own {
				t.Errorf("witness: %t, %d bytes: %v, want that it is good: %t", key.IsWitness(), len(signature),
					err, own)
			}
		}
	}
}

// A mistyped vkey is refused: its id is of its name and key.
func TestAMistypedKeyIsRefused(t *testing.T) {
	good := authorKey.String()
	for _, bad := range []string{"", "x", "a+b", "a+b+c", good + "=", "y" + good,
		strings.Replace(good, "+", " +", 1),
		strings.ToUpper(good), "x+00000000+BgAA", "+00000000+" + strings.Repeat("A", 44)} {
		if k, err := ParseKey(bad); err == nil {
			t.Errorf("%q is a key: %v", bad, k)
		}
	}
	if k, err := ParseKey(good); err != nil || !k.Equal(authorKey) || k.String() != good {
		t.Error(k, err)
	}
}

// FuzzSplit: however notes are cut into reads, they come out whole and in order, and nothing is made up.
func FuzzSplit(f *testing.F) {
	f.Add("a\n1\n\n— a b\n\na\n2\n\n— a c\n\n", 3)
	f.Add("\n\n\n— \n", 1)
	f.Add("x", 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		var got strings.Builder
		s := bufio.NewScanner(strings.NewReader(text))
		s.Buffer(make([]byte, max(1, min(size, 100))), 1<<20)
		for s.Split(Split); s.Scan(); {
			if len(s.Bytes()) == 0 {
				t.Fatal("an empty note")
			}
			got.Write(s.Bytes())
		}
		if s.Err() != nil ||
			strings.ReplaceAll(got.String(), "\n", "") != strings.ReplaceAll(text, "\n", "") {
			t.Errorf("%q gives %q, %v", text, got.String(), s.Err())
		}
	})
}
