package evidence_test

import (
	"bytes"
	"encoding/json"
	"errors"
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
		`signed by waybill/\w+\nsigned by w.example, a witness, at 2026-11-18T\S+Z\n` +
		`not checked: whose keys these are: keys.txt has come with the lines\n$`
	if !good || !regexp.MustCompile(want).MatchString(said) {
		t.Errorf("%t %s", good, said)
	}
	if said, good := python(t, dir, strings.Fields(string(files["keys.txt"]))[1]); good ||
		!strings.HasPrefix(said, "NOT PROVEN: ") {
		t.Errorf("with the witness's key alone: %t %s", good, said)
	}
	os.Remove(filepath.Join(dir, "checkpoint"))
	if said, good := python(t, dir); good || !strings.HasPrefix(said, "NOT PROVEN: ") {
		t.Errorf("without a note: %t %s", good, said)
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
}

// trial is what the harnesses below are given: files, bits to change in them, and cases.
type trial struct {
	Files map[string][]byte `json:"files"`
	Flips [][3]any          `json:"flips"` // file, byte, bit
	Cases []starved         `json:"cases"`
}

// starved is evidence with other files, and the keys that are given.
type starved struct {
	Files map[string][]byte `json:"files"` // those that are others; nil: it is not there
	Keys  []string          `json:"keys"`
}

// checked returns what verify.py and the script of verify.html print of a trial, as far as they can be run.
// The archive, unless it is "", has the same files.
func (x *trial) checked(t *testing.T, archive string) map[string]string {
	t.Helper()
	text, err := json.Marshal(x)
	input := filepath.Join(t.TempDir(), "trial.json")
	if err := errors.Join(err, os.WriteFile(input, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for program, args := range map[string][]string{
		"python3": {"-I", "-S", "-c", pythonHarness, input},
		"node":    {"-e", nodeHarness, "x", input, archive},
	} {
		if !rig.Has(t, program) {
			continue
		}
		out, err := exec.Command(program, args...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", program, err, out[:min(len(out), 2000)])
		}
		said[program] = string(out)
	}
	return said
}

// someBits has a bit changed of some bytes of what is proven.
func someBits(files map[string][]byte) (x trial) {
	x.Files = files
	for name, text := range files {
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

// The harnesses run the checkers as they are, but for a memory of signatures that were checked. They name the
// flips that a checker has missed, and then what it says of each case.
const (
	pythonHarness = `
import base64, fnmatch, glob, io, json, sys
x = json.load(open(sys.argv[1]))
files = {n: base64.b64decode(t) for n, t in x['files'].items()}
source = files['verify.py'].decode()
assert 'must(signed(' in source
code = compile(source.replace('must(signed(', 'must(remember(signed, '), 'verify.py', 'exec')
known = {}
def remember(f, *args):
    if args not in known: known[args] = f(*args)
    return known[args]
def says(changed, keys=()):
    said = []
    def opened(name, mode='r', **kw):
        return io.BytesIO(changed[name]) if 'b' in mode else io.TextIOWrapper(io.BytesIO(changed[name]), **kw)
    def printed(*words, sep=' ', end='\n'): said.append(sep.join(map(str, words)) + end)
    sys.argv = ['verify.py', *keys]
    glob.glob = lambda pattern: fnmatch.filter(changed, pattern)
    try: exec(code, {'open': opened, 'remember': remember, 'print': printed})
    except SystemExit as e: return e.code
    except Exception as e: return 'NOT PROVEN: %r' % e
    return ''.join(said)
assert 'NOT PROVEN' not in says(files)
missed = 0
for name, at, bit in x['flips'] or []:
    text = bytearray(files[name]); text[at] ^= 1 << bit
    if 'NOT PROVEN' not in says({**files, name: bytes(text)}): missed += 1; print('missed', name, at, bit)
for case in x['cases'] or []:
    changed = {**files, **{n: t if t is None else base64.b64decode(t) for n, t in case['files'].items()}}
    print(json.dumps(says({n: t for n, t in changed.items() if t is not None}, case['keys'] or [])))
sys.exit(missed > 0)
`
	nodeHarness = `
const fs = require('fs'), vm = require('vm');
const x = JSON.parse(fs.readFileSync(process.argv[2]));
const decoded = map => Object.entries(map).map(([n, t]) => [n, t === null ? t : new Uint8Array(Buffer.from(t, 'base64'))]);
const files = new Map(decoded(x.files));
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
const says = async (changed, keys) => { try { return await check(changed, keys); } catch (e) { return 'NOT PROVEN: ' + e.message; } };
(async () => {
  const verdict = await check(files);
  if (process.argv[3] && await check(unzip(new Uint8Array(fs.readFileSync(process.argv[3])))) !== verdict) throw 'the zip';
  for (const [name, at, bit] of x.flips || []) {
    const text = Uint8Array.from(files.get(name)); text[at] ^= 1 << bit;
    const said = await says(new Map([...files, [name, text]]));
    if (!said.includes('NOT PROVEN')) { console.log('missed', name, at, bit); process.exitCode = 1; }
  }
  for (const one of x.cases || []) {
    const changed = new Map([...files, ...decoded(one.files)].filter(([, text]) => text !== null));
    for (const [name, text] of Object.entries(one.files)) if (text === null) changed.delete(name);
    console.log(JSON.stringify(await says(changed, one.keys || [])));
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
	archive := filepath.Join(t.TempDir(), "out.zip")
	_, err := evidence.File(durable.Dir(p.Dir), false, history.Filter{Booking: p.Booking}, archive)
	if err != nil {
		t.Fatal(err)
	}
	x.checked(t, archive)
	t.Logf("%d bits changed", len(x.Flips))
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
