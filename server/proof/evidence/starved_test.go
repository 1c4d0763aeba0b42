package evidence_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/proof/history"
	"waybill/store/checkpoint"
	"waybill/store/journal"
	"waybill/store/note"
	"waybill/store/tree"
)

// bundle is evidence from which something is taken, or in which it is spoilt.
type bundle map[string][]byte

// take takes files away.
func (b bundle) take(names ...string) {
	for _, name := range names {
		delete(b, name)
	}
}

// takeLine takes a line away, and its proof.
func (b bundle) takeLine(line string) { b.take(line+".json", line+".tlog-proof") }

// alter replaces a text in a file, once.
func (b bundle) alter(name, old, with string) {
	if !bytes.Contains(b[name], []byte(old)) {
		panic(name + " has no " + old)
	}
	b[name] = bytes.Replace(b[name], []byte(old), []byte(with), 1)
}

// signed puts another note in place of the one that was signed, here and in each proof.
func (b bundle) signed(is []byte) {
	was := b["checkpoint"]
	for name, text := range b {
		if text, ends := bytes.CutSuffix(text, was); ends {
			b[name] = slices.Concat(text, is)
		}
	}
}

// signatures are the lines of who has signed: the owner, and the witness.
func (b bundle) signatures() (owner, witness string) {
	lines := strings.SplitAfter(string(b["checkpoint"]), "\n")
	return lines[5], lines[6]
}

// resigned replaces a text in the note, here and in each proof.
func (b bundle) resigned(old, with string) {
	b.signed(bytes.Replace(b["checkpoint"], []byte(old), []byte(with), 1))
}

// padded sets a bit of base64 that no byte comes from, in a line that ends in it.
func padded(line string) string {
	text := strings.TrimRight(line, "=\n")
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := strings.IndexByte(digits, text[len(text)-1])
	return text[:len(text)-1] + digits[last^1:][:1] + line[len(text):]
}

// starving is a row: what is done to evidence, and what both checkers must say of it. Where that does not
// begin with notProven, it must be proven all the same.
type starving struct {
	what string
	do   func(b bundle)
	keys []string // that are given; nil: none are
	want string
}

const (
	notProven = "NOT PROVEN: "
	notGiven  = "not checked: signatures by keys that were not given"
)

// Nothing is proven that was not checked: who takes away what a check needs, or spoils it in a way that
// decodes to the same, sees verify.py and verify.html refuse, or say what was not checked.
func TestNothingIsProvenThatWasNotChecked(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	p.Forget(t, "email", "olena@example.com")
	files := bundle(p.Write(t, history.Filter{Booking: p.Booking}))
	s := newStarver(t, files, p.Booking)
	rows := slices.Concat(s.files(), s.lines(), s.proofs(), s.notes(t), s.keys(t), s.owned(t))
	ofTicket := bundle(p.Write(t, history.Filter{Ticket: p.Ticket}))
	rows = append(rows, starving{"evidence of a ticket", func(b bundle) {
		b.take(slices.Collect(maps.Keys(b))...)
		maps.Copy(b, ofTicket)
	}, nil, "not checked: whether other lines of the same booking are missing"})
	x := trial{Files: files}
	for _, row := range rows {
		b := maps.Clone(files)
		row.do(b)
		others := maps.Clone(b)
		maps.DeleteFunc(others, func(name string, text []byte) bool { return bytes.Equal(text, files[name]) })
		for name := range files {
			if _, is := b[name]; !is {
				others[name] = nil
			}
		}
		x.Cases = append(x.Cases, starved{others, row.keys})
	}
	for program, out := range x.checked(t, "") {
		said := json.NewDecoder(strings.NewReader(out))
		for _, row := range rows {
			var text string
			if err := said.Decode(&text); err != nil {
				t.Fatalf("%s, of %s: %v", program, row.what, err)
			}
			refused := strings.HasPrefix(text, notProven)
			if !strings.Contains(text, row.want) || refused != strings.HasPrefix(row.want, notProven) {
				t.Errorf("%s, %s: says\n%s\nwant %s", program, row.what, text, row.want)
			}
		}
	}
}

// starver knows what is where in evidence.
type starver struct {
	booking string
	all     []string // the lines, by the start of their files' names
	chain   []string // those that changed the booking
	first   string   // the line that describes the run, and belongs to another booking
	other   string   // that booking
	erasure string   // the line that says what was erased
	known   []string // the keys in keys.txt: the owner's, and the witness's
}

func newStarver(t *testing.T, files bundle, booking string) (s starver) {
	t.Helper()
	s.booking = booking
	s.known = strings.Fields(string(files["keys.txt"]))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		line, isLine := strings.CutSuffix(name, ".json")
		text := string(files[name])
		switch {
		case !isLine:
			continue
		case strings.Contains(text, `"type":"personal.erased"`):
			s.erasure = line
		case strings.Contains(text, booking):
			s.chain = append(s.chain, line)
		default:
			s.first = line
			s.other = regexp.MustCompile(`"booking":"([^"]+)"`).FindStringSubmatch(text)[1]
		}
		s.all = append(s.all, line)
	}
	if len(s.chain) != 3 || s.first == "" || s.erasure == "" || len(s.known) != 2 {
		t.Fatalf("other evidence than was thought: %+v", s)
	}
	return s
}

// seq returns the number of a line.
func seq(line string) string { return strings.TrimLeft(strings.TrimPrefix(line, "line-"), "0") }

// missing is what is said of a line of the booking that is not here.
func (s *starver) missing(line string) string {
	return fmt.Sprintf(notProven+"line %s of booking %s is missing", seq(line), s.booking)
}

// files are the rows of whole files.
func (s *starver) files() []starving {
	none := notProven + "no line here changes booking "
	whole := "whole from line %s to line %s: nothing that changed booking %s "
	const half = notProven + "a proof is here without its line, or a file that is neither"
	return []starving{
		{"all is here", func(bundle) {}, nil, fmt.Sprintf(whole, seq(s.chain[0]), seq(s.chain[2]), s.booking)},
		{"no note", func(b bundle) { b.take("checkpoint") }, nil, notProven},
		{"no keys", func(b bundle) { b.take("keys.txt") }, nil, notProven},
		{"no keys but those given", func(b bundle) { b.take("keys.txt") }, s.known, "signed by w.example, a witness"},
		{"no line", func(b bundle) {
			for _, line := range s.all {
				b.takeLine(line)
			}
		}, nil, notProven},
		{"no line, and no booking", func(b bundle) {
			for _, line := range s.all {
				b.takeLine(line)
			}
			b.take("booking.txt")
		}, nil, notProven + "there are no lines here"},
		{"without the first line of the booking", func(b bundle) { b.takeLine(s.chain[0]) }, nil, s.missing(s.chain[0])},
		{"without its second", func(b bundle) { b.takeLine(s.chain[1]) }, nil, s.missing(s.chain[1])},
		{"without its last", func(b bundle) { b.takeLine(s.chain[2]) }, nil,
			fmt.Sprintf(whole, seq(s.chain[0]), seq(s.chain[1]), s.booking)},
		{"without the line of the erasure", func(b bundle) { b.takeLine(s.erasure) }, nil, notProven + "the personal part of "},
		{"a proof without its line", func(b bundle) { b.take(s.first + ".json") }, nil, half},
		{"a line without its proof", func(b bundle) { b.take(s.first + ".tlog-proof") }, nil, notProven},
		{"a file that is neither", func(b bundle) { b["line-9.JSON"] = b[s.first+".json"] }, nil, half},
		{"no booking", func(b bundle) { b.take("booking.txt") }, nil,
			"not checked: whether other lines of the same booking are missing: there is no booking.txt"},
		{"an empty booking.txt", func(b bundle) { b["booking.txt"] = []byte("\n") }, nil, none},
		{"a booking that is not here", func(b bundle) { b["booking.txt"] = []byte(s.booking[1:] + "A\n") }, nil, none},
		{"a ticket for a booking", func(b bundle) {
			b["booking.txt"] = regexp.MustCompile(`"ticket":"([^"]+)"`).FindSubmatch(b[s.chain[1]+".json"])[1]
		}, nil, none},
		{"another booking than the story's", func(b bundle) { b["booking.txt"] = []byte(s.other) }, nil,
			fmt.Sprintf(whole, seq(s.first), seq(s.first), s.other)},
	}
}

// lines are the rows of what is in a line.
func (s *starver) lines() (rows []starving) {
	row := func(what, line, want string, do func(text []byte) []byte) {
		name := line + ".json"
		rows = append(rows, starving{what, func(b bundle) { b[name] = do(b[name]) }, nil, want})
	}
	spoilt := func(what, line, old, with string) {
		row(what, line, notProven, func(text []byte) []byte {
			return regexp.MustCompile(old).ReplaceAll(text, []byte(with))
		})
	}
	paid := s.chain[1]
	row("a hash in capitals", paid, notProven+paid+".json is not what was written", func(text []byte) []byte {
		return slices.Concat(text[:9], bytes.ToUpper(text[9:73]), text[73:])
	})
	row("a number in digits of another hash", paid, notProven, func(text []byte) []byte {
		return slices.Concat(text[:9], bytes.Repeat([]byte("0"), 64), text[73:])
	})
	spoilt("a blank after a line", paid, `\n$`, " \n")
	spoilt("CR after a line", paid, `\n$`, "\r\n")
	spoilt("no newline", paid, `\n$`, "")
	spoilt("a blank for the newline", paid, `\n$`, " ")
	spoilt("another name of the hash", paid, `^\{"hash"`, `{"hush"`)
	spoilt("one more newline", paid, `\n$`, "\n\n")
	spoilt("a blank in a line", paid, `,"data":`, `, "data":`)
	spoilt("a line without before", paid, `"before":\d+,?`, "")
	spoilt("no last brace", paid, `}\n$`, "\n")
	spoilt("no last brace where the personal part is left out", s.first, `}\n$`, "\n")
	spoilt("another one there", s.first, `}\n$`, "]\n")
	spoilt("a personal part of nobody", s.first, `}\n$`, `,"personal":{}}`+"\n")
	const erased = `,"personal":{"erased":"2026-11-20T08:00:00.000Z"}}`
	spoilt("an erased part that nobody erased", s.first, `}\n$`, erased+"\n")
	sale := s.chain[0]
	spoilt("another time of the erasure", sale, `("erased":"\d+)`, "${1}0")
	spoilt("an erased part with a blank", sale, `"erased":`, `"erased": `)
	row("a personal part left out", sale, "(2 without the names in them)", func(text []byte) []byte {
		return regexp.MustCompile(`,"personal":\{.*\}`).ReplaceAll(text, []byte("}"))
	})
	return append(rows,
		starving{"a number without zeros", func(b bundle) {
			b["line-"+seq(paid)+".json"] = b[paid+".json"]
			b["line-"+seq(paid)+".tlog-proof"] = b[paid+".tlog-proof"]
			b.takeLine(paid)
		}, nil, notProven},
		starving{"a line twice", func(b bundle) {
			for _, end := range []string{".json", ".tlog-proof"} {
				b[s.first+"-1"+end] = b[s.first+end]
			}
		}, nil, notProven + s.first + "-1.json is not what was written"},
		starving{"two lines in each other's place", func(b bundle) {
			for _, end := range []string{".json", ".tlog-proof"} {
				b[sale+end], b[paid+end] = b[paid+end], b[sale+end]
			}
		}, nil, notProven},
	)
}

// proofs are the rows of what is in the proof of a line.
func (s *starver) proofs() (rows []starving) {
	proof := s.chain[1] + ".tlog-proof"
	row := func(what string, do func(lines []string) []string) {
		rows = append(rows, starving{what, func(b bundle) {
			b[proof] = []byte(strings.Join(do(strings.SplitAfter(string(b[proof]), "\n")), ""))
		}, nil, notProven})
	}
	const kind, extra, index, sibling = 0, 1, 2, 3
	without := func(at int) func([]string) []string {
		return func(lines []string) []string { return slices.Delete(lines, at, at+1) }
	}
	replaced := func(at int, with func(string) string) func([]string) []string {
		return func(lines []string) []string {
			lines[at] = with(lines[at])
			return lines
		}
	}
	row("an extra that decodes to the same", replaced(extra, padded))
	row("a sibling that does", replaced(sibling, padded))
	row("a blank after a sibling", replaced(sibling, func(l string) string { return l[:len(l)-1] + " \n" }))
	row("another version", replaced(kind, func(l string) string { return strings.Replace(l, "v1", "v2", 1) }))
	row("an index with a zero", replaced(index, func(l string) string { return "index 0" + l[6:] }))
	row("no index", without(index))
	row("no extra", without(extra))
	row("a sibling less", without(sibling))
	row("a sibling twice", replaced(sibling, func(l string) string { return l + l }))
	row("the note without its witness", func(lines []string) []string { return lines[:len(lines)-2] })
	row("a note of another form", func(lines []string) []string {
		at := len(lines) - 2
		lines[at] = padded(lines[at])
		return lines
	})
	row("no note", func(lines []string) []string { return lines[:slices.Index(lines, "\n")+1] })
	rows = append(rows, starving{"another line's", func(b bundle) {
		b[proof] = b[s.first+".tlog-proof"]
	}, nil, notProven})
	return rows
}

// notes are the rows of what was signed, and by whom.
func (s *starver) notes(t *testing.T) (rows []starving) {
	row := func(what, want string, do func(b bundle), keys ...string) {
		rows = append(rows, starving{what, do, keys, want})
	}
	const (
		noKey = notProven + "a signature is by no key that is known"
		twice = notProven + "the signature is not that of "
		form  = notProven + "the signatures are in no known form"
	)
	without := func(b bundle) {
		_, witness := b.signatures()
		b.resigned(witness, "")
	}
	row("without the owner", noKey, func(b bundle) {
		owner, _ := b.signatures()
		b.resigned(owner, "")
	})
	row("without the witness", "signed by "+s.origin()+"\nnot checked: whose keys", without)
	row("without one whose key is given", notProven+"a key that was given has not", without, s.known...)
	spoils := map[string]func(line string) string{
		notProven + "base64 was changed": padded,
		twice:                            func(line string) string { return line + line },
		form:                             func(line string) string { return strings.TrimSpace(line) + " \n" },
		notProven:                        func(line string) string { return line[3:] },
	}
	for want, spoil := range spoils {
		for i, who := range []string{"the owner's signature", "the witness's"} {
			row(who+" spoilt, so that it is: "+want, want, func(b bundle) {
				owner, witness := b.signatures()
				line := []string{owner, witness}[i]
				b.resigned(line, spoil(line))
			})
		}
	}
	stranger := rig.NewCosigner(t, "x.example")
	joined := func(b bundle) {
		text, _, _ := strings.Cut(string(b["checkpoint"]), "\n\n")
		b.signed([]byte(string(b["checkpoint"]) + stranger.Cosign(text+"\n")))
	}
	row("with a stranger", noKey, joined)
	row("with a stranger, and keys given", notGiven, joined, s.known...)
	row("a root that decodes to the same", notProven, func(b bundle) {
		root := strings.SplitAfter(string(b["checkpoint"]), "\n")[2]
		b.resigned(root, padded(root))
	})
	row("no empty line", notProven, func(b bundle) { b.resigned("\n\n", "\n") })
	row("a number with a zero", notProven, func(b bundle) { b.resigned("\n", "\n0") })
	return rows
}

// origin is the journal's name.
func (s *starver) origin() string {
	name, _, _ := strings.Cut(s.known[0], "+")
	return name
}

// keys are the rows of keys, in keys.txt and given.
func (s *starver) keys(t *testing.T) (rows []starving) {
	const (
		noKey  = notProven + "this is no verifier key"
		unused = notProven + "a key that was given has not signed"
		known  = notProven + "a signature is by no key that is known"
	)
	key := func(text string) note.Key {
		k, err := note.ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	own, witness := key(s.known[0]), key(s.known[1])
	stranger := rig.NewCosigner(t, "x.example").VKey()
	given := func(want string, keys ...string) {
		rows = append(rows, starving{fmt.Sprint("given ", keys), func(bundle) {}, keys, want})
	}
	given(notGiven, s.known[0])
	given(notGiven, s.known[0], s.known[0])
	given("signed by w.example, a witness", s.known...)
	given(known, s.known[1])
	given(known, stranger.String())
	given(known, note.NewWitnessKey(own.Name, own.Public()).String())
	given(unused, s.known[0], stranger.String())
	given(unused, s.known[0], s.known[1], stranger.String())
	given(unused, s.known[0], note.NewKey(own.Name, stranger.Public()).String())
	given(unused, s.known[0], note.NewKey(witness.Name, witness.Public()).String())
	given(notProven, s.known[0], "")
	wrong := func(what, want, text string) {
		rows = append(rows, starving{"a key with " + what, func(b bundle) {
			b.alter("keys.txt", s.known[1], text)
		}, nil, want}, starving{"given one with " + what, func(bundle) {}, []string{s.known[0], text},
			strings.Replace(want, known, unused, 1)})
	}
	name, id, _ := strings.Cut(s.known[1], "+")
	id, encoded, _ := strings.Cut(id, "+")
	if strings.ToUpper(id) == id {
		t.Fatalf("the id %s has no letter", id)
	}
	material, _ := base64.StdEncoding.DecodeString(encoded)
	of := func(material []byte) string {
		sum := sha256.Sum256(append([]byte(name+"\n"), material...))
		return fmt.Sprintf("%s+%x+%s", name, sum[:4], base64.StdEncoding.EncodeToString(material))
	}
	wrong("its id in capitals", noKey, name+"+"+strings.ToUpper(id)+"+"+encoded)
	wrong("no id", notProven, name+"+"+encoded)
	wrong("another type", noKey, of(append([]byte{2}, material[1:]...)))
	wrong("a byte less", noKey, of(material[:32]))
	wrong("the type of an author", known, of(append([]byte{1}, material[1:]...)))
	return rows
}

// owned are the rows that only who has the key can make: one line, of a journal that verify would refuse.
func (s *starver) owned(t *testing.T) (rows []starving) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	const origin = "waybill/OWN"
	vkey := note.NewKey(origin, key.Public().(ed25519.PublicKey)).String()
	row := func(what, want string, seq uint64, data, more string) {
		line := journal.Line{
			Head: journal.Head{Stamp: journal.Stamp{Seq: seq, Time: rig.Start}},
			Type: "ticket.carrier",
			Data: []byte(data),
		}
		c := checkpoint.Checkpoint{Origin: origin}
		text := line.AppendTo(nil, c.Hash)
		c.Head, c.Root = line.Head, tree.Leaf(line.Chained)
		c.Seq = 1
		said, _, _ := bytes.Cut(c.Sign(key), []byte("\n\n"))
		signed := note.Sign([]byte(string(said)+"\n"+more), origin, key)
		rows = append(rows, starving{what, func(b bundle) {
			b.take(slices.Collect(maps.Keys(b))...)
			b["checkpoint"] = signed
			b["booking.txt"] = []byte("B\n")
			b["line-000000000001.json"] = text
			b["line-000000000001.tlog-proof"] = fmt.Appendf(nil, "c2sp.org/tlog-proof@v1\nextra %s\n"+
				"index 0\n\n%s", base64.StdEncoding.EncodeToString(make([]byte, 32)), signed)
		}, []string{vkey}, want})
	}
	const first = `{"booking":"B","before":0}`
	row("a line of one's own", "whole from line 1 to line 1: ", 1, first, "")
	row("one that is called another", notProven+"line-000000000001.json is not what", 2, first, "")
	row("one without before", notProven+"no line here changes booking B", 1, `{"booking":"B"}`, "")
	row("one after another", notProven+"line 1 of booking B is missing", 1, `{"booking":"B","before":1}`, "")
	row("a note of five lines", notProven, 1, first, "more\n")
	return rows
}
