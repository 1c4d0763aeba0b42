package note

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

// The key of the tests, made of a seed of zeros.
var testKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

func TestANoteIsVerified(t *testing.T) {
	signed := Sign([]byte("a\nb\n"), "waybill/x", testKey)
	n, err := Parse(signed)
	if err != nil || string(n.Text) != "a\nb\n" || n.Name != "waybill/x" {
		t.Fatalf("%+v, %v", n, err)
	}
	if err := n.Verify(testKey.Public().(ed25519.PublicKey)); err != nil {
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
				err = n.Verify(testKey.Public().(ed25519.PublicKey))
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
	id := keyID("x", testKey.Public().(ed25519.PublicKey))
	forged := base64.StdEncoding.EncodeToString(append(id, make([]byte, ed25519.SignatureSize)...))
	for text, want := range map[string]error{
		"":                                      ErrForm,
		"a\n":                                   ErrForm,
		good + "more\n":                         ErrForm,
		"a\n\n— x ####\n":                       ErrSignatureForm,
		"a\n\n— x AAAA\n":                       ErrSignatureForm,
		"a\n\n— x " + forged + "\n":             ErrSignature,
		string(Sign([]byte("a\n"), "x", other)): ErrOtherKey,
	} {
		n, err := Parse([]byte(text))
		if err == nil {
			err = n.Verify(testKey.Public().(ed25519.PublicKey))
		}
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
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
