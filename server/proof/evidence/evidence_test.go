package evidence_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/proof/evidence"
	"waybill/server/proof/history"
	"waybill/store/durable"
	"waybill/store/note"
	"waybill/store/tree"
)

// unpack writes files into a folder.
func unpack(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// python runs verify.py in a folder, as README.txt says, but without site-packages (-S), which take longer.
func python(t *testing.T, dir string, args ...string) (said string, good bool) {
	t.Helper()
	c := exec.Command("python3", slices.Concat([]string{"-I", "-S", "verify.py"}, args)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

// Decision evidence.lines: the evidence has the lines that tell of a booking as they are, the one that
// describes its run without its personal part, proofs, keys, the story, and what checks it, in words too.
func TestEvidenceHasWhatItShould(t *testing.T) {
	p := rig.NewProven(t)
	files := p.Write(t, history.Filter{Booking: p.Booking})
	var lines, proofs []string
	for name := range files {
		if strings.HasSuffix(name, ".json") {
			lines = append(lines, name)
		}
		if strings.HasSuffix(name, ".tlog-proof") {
			proofs = append(proofs, name)
		}
	}
	if len(lines) != 4 || len(proofs) != 4 { // the run, the booking, two payments
		t.Errorf("%q %q", lines, proofs)
	}
	journal, err := os.ReadFile(filepath.Join(p.Dir, "journal/000000000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, name := range lines {
		// Without its personal part, what is hashed is followed by one brace, which closes the object.
		hashed, _ := bytes.CutSuffix(files[name], []byte("}\n"))
		cut := slices.Concat(hashed, []byte(`,"personal":{`))
		switch {
		case bytes.Contains(journal, files[name]):
			whole++
		case !bytes.Contains(journal, cut) || !json.Valid(files[name]):
			t.Errorf("%s is neither as in the journal nor JSON: %s", name, files[name])
		}
		if bytes.Contains(files[name], []byte("Somebody")) {
			t.Errorf("%s has another's name: %s", name, files[name])
		}
	}
	if whole != 3 {
		t.Errorf("%d lines are as they are in the journal", whole)
	}
	readme := string(files["README.txt"])
	for _, want := range []string{"booking " + p.Booking, "w.example has seen that journal at 2026-11-18",
		"not part of the proof", "python3 -I verify.py", "Left out: 1", "does not prove",
		"That last } is not in the journal"} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.txt does not say %q:\n%s", want, readme)
		}
	}
	if n := bytes.Count(files["verify.py"], []byte("\n")); n > 80 {
		t.Errorf("verify.py has %d lines", n)
	}
	if !bytes.Contains(files["history.txt"], []byte("Confirmed/Paid")) {
		t.Errorf("history.txt: %s", files["history.txt"])
	}
	if got := p.Write(t, history.Filter{Ticket: p.Ticket}); len(got) < 8 {
		t.Errorf("of a ticket: %d files", len(got))
	}
	const nobody = "AAAAAAAAAAAAAAAAAAAAAA"
	for _, of := range []history.Filter{{Booking: nobody}, {Ticket: nobody}} {
		name := filepath.Join(t.TempDir(), "none.zip")
		if _, err := evidence.File(durable.Dir(p.Dir), false, of, name); err == nil {
			t.Error("there is evidence of what no line names")
		}
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Error("and a file of it")
		}
	}
}

// Decision lines.before: who leaves out a line between the first and the last of a booking is found out, and
// the line is named.
func TestALineLeftOutOfEvidenceIsNamed(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	files := p.Write(t, history.Filter{Booking: p.Booking})
	var chain []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		ours := strings.HasSuffix(name, ".json") && bytes.Contains(text, []byte(`"booking":"`+p.Booking))
		if ours && bytes.Contains(text, []byte(`"before":`)) {
			chain = append(chain, strings.TrimSuffix(name, ".json"))
		}
	}
	if len(chain) < 2 {
		t.Fatal(chain)
	}
	for _, name := range chain[:len(chain)-1] {
		left := maps.Clone(files)
		delete(left, name+".json")
		delete(left, name+".tlog-proof")
		seq := strings.TrimLeft(strings.TrimPrefix(name, "line-"), "0")
		want := "line " + seq + " of booking " + p.Booking + " is missing"
		said := map[string]string{}
		if rig.Has(t, "python3") {
			said["verify.py"], _ = python(t, unpack(t, left))
		}
		if rig.Has(t, "node") {
			said["verify.html"] = inNode(t, left)
		}
		for checker, text := range said {
			if !strings.Contains(text, want) {
				t.Errorf("%s, without %s: %s", checker, name, text)
			}
		}
	}
}

// inNode returns what the script of verify.html says of files.
func inNode(t *testing.T, files map[string][]byte) string {
	t.Helper()
	x := flips{Files: map[string]string{}, Flips: [][3]any{}}
	for name, text := range files {
		x.Files[name] = base64.StdEncoding.EncodeToString(text)
	}
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	input := filepath.Join(t.TempDir(), "files.json")
	if err := os.WriteFile(input, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.Command("node", "-e", nodeHarness, "x", input).CombinedOutput()
	return string(out)
}

// Who gets the evidence checks it with Python, offline, also with keys from elsewhere.
func TestEvidenceIsCheckedWithPython(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	p := rig.NewProven(t)
	files := p.Write(t, history.Filter{Booking: p.Booking})
	dir := unpack(t, files)
	said, good := python(t, dir)
	want := `^4 lines are in the journal waybill/\w+ as they were written \(1 without the names in them\); ` +
		`it had \d+ lines at \S+\n` +
		`whole from line \d+ to line \d+: nothing that changed booking \S{22} between them is missing\n` +
		`signed by waybill/\w+\nsigned by w.example, a witness, at 2026-11-18T\S+Z\n$`
	if !good || !regexp.MustCompile(want).MatchString(said) {
		t.Errorf("%t %s", good, said)
	}
	keys := strings.Fields(string(files["keys.txt"]))
	if said, good := python(t, dir, keys[0]); !good || strings.Contains(said, "witness") {
		t.Errorf("with the owner's key alone: %t %s", good, said)
	}
	if said, good := python(t, dir, keys[1]); good || !strings.Contains(said, "NOT PROVEN") {
		t.Errorf("with the witness's key alone: %t %s", good, said)
	}
	mistyped := []byte(keys[0])
	mistyped[strings.Index(keys[0], "+")+1] ^= 1
	if said, good := python(t, dir, string(mistyped)); good || !strings.Contains(said, "is no verifier key") {
		t.Errorf("with a mistyped id: %t %s", good, said)
	}
	stranger := rig.NewCosigner(t, "x").VKey().String()
	if said, good := python(t, dir, stranger); good || !strings.Contains(said, "NOT PROVEN") {
		t.Errorf("with somebody's key: %t %s", good, said)
	}
	for name, text := range files {
		unclosed, left := bytes.CutSuffix(text, []byte("}}\n"))
		if !left || !strings.HasSuffix(name, ".json") {
			continue
		}
		os.WriteFile(filepath.Join(dir, name), slices.Concat(unclosed, []byte("}\n")), 0o600)
		if said, good := python(t, dir); good || !strings.Contains(said, "NOT PROVEN") {
			t.Errorf("%s without its last brace: %t %s", name, good, said)
		}
		os.WriteFile(filepath.Join(dir, name), text, 0o600)
	}
	for _, name := range []string{"checkpoint", "keys.txt", "line-000000000005.tlog-proof"} {
		text := files[name]
		os.Remove(filepath.Join(dir, name))
		if said, good := python(t, dir); good || !strings.Contains(said, "NOT PROVEN") {
			t.Errorf("without %s: %t %s", name, good, said)
		}
		os.WriteFile(filepath.Join(dir, name), text, 0o600)
	}
}

// Erased persons stay erased in evidence, and it still proves: of the booking itself, and of the run's line.
func TestEvidenceOfErasedPersons(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	p.Forget(t, "booking", p.Booking)
	files := p.Write(t, history.Filter{Booking: p.Booking})
	for name, text := range files {
		if bytes.Contains(text, []byte("Ukrainka")) || bytes.Contains(text, []byte("Пчілка")) {
			t.Errorf("%s has the name", name)
		}
	}
	if !bytes.Contains(files["README.txt"], []byte("Erased: ")) {
		t.Error("README.txt does not say that something is erased")
	}
	if !rig.Has(t, "python3") {
		return
	}
	if said, good := python(t, unpack(t, files)); !good {
		t.Errorf("it is not proven: %s", said)
	}
	// Without the line that says so, an erased part is one that somebody took away.
	for name, text := range files {
		if bytes.Contains(text, []byte(`"type":"personal.erased"`)) {
			delete(files, name)
		}
	}
	if said, good := python(t, unpack(t, files)); good || !strings.Contains(said, "nor erased") {
		t.Errorf("without the line of the erasure: %t %s", good, said)
	}
}

// flips is what the harnesses below are given: files, and for each what to change in it.
type flips struct {
	Files map[string]string `json:"files"` // base64
	Flips [][3]any          `json:"flips"` // file, byte, bit
}

// someBits has a bit changed of some bytes of what is proven.
func someBits(files map[string][]byte) (x flips) {
	x.Files = map[string]string{}
	for name, text := range files {
		x.Files[name] = base64.StdEncoding.EncodeToString(text)
		proof := strings.HasPrefix(name, "line-")
		if !proof && name != "checkpoint" {
			continue
		}
		for at := range text {
			step := 97
			if *rig.Long {
				step = 1
			}
			if !proof {
				step *= 4 // each costs the check of a signature in plain Python
			}
			if at%step > 0 {
				continue
			}
			x.Flips = append(x.Flips, [3]any{name, at, (at*5 + len(name)) % 8})
		}
	}
	return x
}

// keyBits has each bit of each character of keys.txt changed, or one bit of each third.
func keyBits(files map[string][]byte) (list [][3]any) {
	for at, c := range files["keys.txt"] {
		for bit := range 8 {
			if c != '\n' && (*rig.Long || at%3 == 0 && bit == at%8) {
				list = append(list, [3]any{"keys.txt", at, bit})
			}
		}
	}
	return list
}

// endBits has each bit of the ends of lines changed, or one bit of each byte: the braces and the newline,
// which are not all hashed.
func endBits(files map[string][]byte) (list [][3]any) {
	const end = 4 // bytes
	for name, text := range files {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		for at := len(text) - end; at < len(text); at++ {
			for bit := range 8 {
				if *rig.Long || bit == at%8 {
					list = append(list, [3]any{name, at, bit})
				}
			}
		}
	}
	return list
}

// The harnesses run the checkers as they are, but for a memory of signatures that were checked.
const (
	pythonHarness = `
import base64, builtins, glob, io, json, sys
x = json.load(open(sys.argv[1]))
files = {n: base64.b64decode(t) for n, t in x['files'].items()}
source = files['verify.py'].decode()
assert 'must(signed(' in source
code = compile(source.replace('must(signed(', 'must(remember(signed, '), 'verify.py', 'exec')
known = {}
def remember(f, *args):
    if args not in known: known[args] = f(*args)
    return known[args]
def proven(changed):
    def opened(name, mode='r', **kw):
        return io.BytesIO(changed[name]) if 'b' in mode else io.TextIOWrapper(io.BytesIO(changed[name]), **kw)
    sys.argv = ['verify.py']
    glob.glob = lambda pattern: [n for n in changed if n.startswith('line-') and n.endswith('.json')]
    try: exec(code, {'open': opened, 'remember': remember, 'print': lambda *a, **k: None})
    except SystemExit as e: return not e.code
    except Exception: return False
    return True
assert proven(files)
missed = 0
for name, at, bit in x['flips']:
    text = bytearray(files[name]); text[at] ^= 1 << bit
    if proven({**files, name: bytes(text)}): missed += 1; print('missed', name, at, bit)
sys.exit(missed > 0)
`
	nodeHarness = `
const fs = require('fs'), vm = require('vm');
const x = JSON.parse(fs.readFileSync(process.argv[2]));
const files = new Map(Object.entries(x.files).map(([n, t]) => [n, new Uint8Array(Buffer.from(t, 'base64'))]));
let source = new TextDecoder().decode(files.get('verify.html')).split('<script>')[1].split('</script>')[0];
if (!source.includes('await signed(')) throw 'another script';
source = source.replace('await signed(', 'await remember(signed, ') + ';globalThis.check = check; globalThis.unzip = unzip;';
const known = new Map();
globalThis.remember = async (f, ...args) => {
  const key = args.map(a => Buffer.from(a).toString('hex')).join();
  if (!known.has(key)) known.set(key, await f(...args));
  return known.get(key);
};
vm.runInThisContext(source);
const proven = async changed => { try { return await check(changed); } catch { return ''; } };
(async () => {
  const verdict = await check(files);
  if (process.argv[3] && await check(unzip(new Uint8Array(fs.readFileSync(process.argv[3])))) !== verdict) throw 'the zip';
  console.log(verdict);
  for (const [name, at, bit] of x.flips) {
    const text = Uint8Array.from(files.get(name)); text[at] ^= 1 << bit;
    if (await proven(new Map([...files, [name, text]]))) { console.log('missed', name, at, bit); process.exitCode = 1; }
  }
})();
`
)

// Every changed bit of what is proven is found: of lines, of their personal parts, of proofs, of what was
// signed, and of the keys in keys.txt, whose ids follow from their names and keys. By verify.py and by the
// page alike.
func TestEveryChangedBitOfEvidenceIsFound(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	p.Forget(t, "email", "olena@example.com")
	files := p.Write(t, history.Filter{Booking: p.Booking})
	x := someBits(files)
	x.Flips = append(x.Flips, keyBits(files)...)
	x.Flips = append(x.Flips, endBits(files)...)
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	input := filepath.Join(dir, "flips.json")
	archive := filepath.Join(dir, "out.zip")
	if err := os.WriteFile(input, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = evidence.File(durable.Dir(p.Dir), false, history.Filter{Booking: p.Booking}, archive)
	if err != nil {
		t.Fatal(err)
	}
	for program, args := range map[string][]string{
		"python3": {"-c", pythonHarness, input},
		"node":    {"-e", nodeHarness, "x", input, archive},
	} {
		if !rig.Has(t, program) {
			continue
		}
		out, err := exec.Command(program, args...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", program, err, out[:min(len(out), 2000)])
		}
		t.Logf("%s: %d bits changed; %s", program, len(x.Flips), out[:min(len(out), 300)])
	}
}

// A proof of a line at ten million lines takes at most 2.5 KB, with two witnesses: 24 hashes, and what was
// signed.
func TestAProofIsSmall(t *testing.T) {
	p := rig.NewProven(t)
	files := p.Write(t, history.Filter{Booking: p.Booking})
	const hash = 45 // bytes of a line
	for name, text := range files {
		if strings.HasSuffix(name, ".tlog-proof") {
			path := bytes.Count(text[:bytes.Index(text, []byte("\n\n"))], []byte("\n")) - 2
			cosignature := bytes.Index(text[bytes.LastIndex(text, []byte("— ")):], []byte("\n"))
			if size := len(text) + (24-path)*hash + cosignature; size > 2500 {
				t.Errorf("%s would take %d bytes", name, size)
			}
		}
	}
}

// A personal part that is gone without a line that says so is no erasure, and there is no evidence of it.
func TestNoEvidenceOfWhatWasTakenAway(t *testing.T) {
	p := rig.NewProven(t)
	name := filepath.Join(p.Dir, "journal/000000000001.jsonl")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	part := regexp.MustCompile(`"personal":\{[^\n]*Ukrainka[^\n]*\}\}`)
	gone := part.ReplaceAll(text, []byte(`"personal":{"erased":"2026-11-20T08:00:00.000Z"}}`))
	if err := os.WriteFile(name, gone, 0o600); err != nil || bytes.Equal(gone, text) {
		t.Fatal("nothing was taken away", err)
	}
	out := filepath.Join(t.TempDir(), "out.zip")
	_, err = evidence.File(durable.Dir(p.Dir), false, history.Filter{Booking: p.Booking}, out)
	if err == nil || !strings.Contains(err.Error(), "no line says that it was erased") {
		t.Errorf("%v", err)
	}
}

// The hashes beside the journal are a cache for evidence too: wrong ones, and none, prove as well.
func TestEvidenceWithoutTheHashes(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	p := rig.NewProven(t)
	name := filepath.Join(p.Dir, tree.Dir, "00")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text[5] ^= 1
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	of := history.Filter{Booking: p.Booking}
	if said, good := python(t, unpack(t, p.Write(t, of))); !good {
		t.Errorf("with a wrong hash: %s", said)
	}
	if err := os.RemoveAll(filepath.Join(p.Dir, tree.Dir)); err != nil {
		t.Fatal(err)
	}
	if said, good := python(t, unpack(t, p.Write(t, of))); !good {
		t.Errorf("without the hashes: %s", said)
	}
}

// Each key that somebody gives verify.py must have signed: the directory's own with one that has not is no
// proof.
func TestEachKeyThatIsGivenMustHaveSigned(t *testing.T) {
	if !rig.Has(t, "python3") {
		return
	}
	p := rig.NewProven(t)
	files := p.Write(t, history.Filter{Booking: p.Booking})
	dir := unpack(t, files)
	keys := strings.Fields(string(files["keys.txt"]))
	own := keys[0]
	name, _, _ := strings.Cut(own, "+")
	stranger := rig.NewCosigner(t, "x.example").VKey()
	for what, c := range map[string]struct {
		keys []string
		good bool
	}{
		"its own key":              {[]string{own}, true},
		"its own key twice":        {[]string{own, own}, true},
		"and its witness's":        {keys, true},
		"and a stranger's":         {[]string{own, stranger.String()}, false},
		"and another of its name":  {[]string{own, note.NewKey(name, stranger.Public()).String()}, false},
		"its and two witnesses'":   {append(keys[:2:2], stranger.String()), false},
		"a stranger's and no more": {[]string{stranger.String()}, false},
	} {
		said, good := python(t, dir, c.keys...)
		if good != c.good || !good && !strings.Contains(said, "NOT PROVEN") {
			t.Errorf("with %s: %t, %s", what, good, said)
		}
	}
}
