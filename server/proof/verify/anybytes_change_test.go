package verify_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Part B: lines that were changed, chained and signed anew, so that only rules can find it.

var (
	someNumber = regexp.MustCompile(`\d+`)
	regexpName = regexp.MustCompile(`[A-Z0-9]{26}`)
	typed      = regexp.MustCompile(`"type":"([^"]*)"`)
	thePart    = regexp.MustCompile(`"personal":"([0-9a-f]{64})"`)
)

// outOfRange are numbers that are too large for something, or are no whole ones.
var outOfRange = []string{"-1", "0", "256", "32768", "65536", "-32769", "2147483648", "-2147483649",
	"4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
	"-9223372036854775809", "18446744073709551616", "1e400", "-0", "1.5", "1e3", "100.0", "00", "+1", "0x10",
	"99999999999999999999999999999999999999"}

// otherKinds are values of all kinds.
var otherKinds = []string{"1", "-7", `"x"`, `""`, "true", "false", "[]", "{}", "[1]", `["x"]`,
	`{"a":1}`, "1.5", "null", "[null]", `[{}]`, "[[]]"}

// texts are those that readers or writers may stumble over.
var texts = []string{`""`, `" "`, `"\u0000"`, `"\ud800"`, `"\udc00x"`, `"\ud83d\ude00"`, `"a\u0062c"`, `"\/"`,
	`"<&>"`, `"\u003c"`, `"Ї"`, "\"\u2028\"", `"\u2028"`, "\"\x7f\"", `"` + strings.Repeat("x", 5000) + `"`,
	`"2026-11-20T08:00:00Z"`, `"2026-02-30"`, `"2026-02-30T25:00:00Z"`, `"0000-00-00"`, `"1-1"`, `"../x"`,
	`"9999-12-31T23:59:59Z"`, `"AAAAAAAAAAAAAAAAAAAAAA"`, `"` + strings.Repeat("0", 64) + `"`, `"UAH"`,
	`"pay"`}

// theLines is a journal that is changed.
type theLines struct {
	*spoilt
	lines  []string
	byType map[string][]int    // the places of lines
	words  map[string][]string // all values of the members of a name
	ids    []string            // all texts that are ids or hashes
}

// change changes something in the lines of a copy, has all follow, and signs it.
func (b *rich) change(t *testing.T, c *spoilt) {
	t.Helper()
	copyOf(t, b.plain, c.dir)
	c.bare = true
	forgeIn(t, c.dir, func(lines []string) []string {
		x := &theLines{spoilt: c, lines: lines, byType: map[string][]int{}, words: map[string][]string{}}
		x.index()
		for !x.spoil(t) {
		}
		return x.lines
	})
}

// index reads the lines.
func (x *theLines) index() {
	for i, line := range x.lines {
		kind := typed.FindStringSubmatch(line)[1]
		x.byType[kind] = append(x.byType[kind], i)
		for _, v := range valuesOf(line) {
			name := v.path[strings.LastIndexByte(v.path, '.')+1:]
			text := line[v.from:v.to]
			x.words[name] = append(x.words[name], text)
			if v.kind == '"' && len(text) >= 24 && !strings.Contains(text, " ") {
				x.ids = append(x.ids, text)
			}
		}
	}
	for _, list := range x.words {
		slices.Sort(list)
	}
}

// spoil changes something; false: nothing, and something else is to be tried.
func (x *theLines) spoil(t *testing.T) bool {
	at := pick(x.r, x.byType[pick(x.r, keysOf(x.byType))])
	kind := typed.FindStringSubmatch(x.lines[at])[1]
	switch n := x.r.IntN(100); {
	case n < 4:
		return x.table(t)
	case n < 6:
		x.spoilt.change("a line less", kind, x.lines[at][75:], "")
		x.lines = slices.Delete(x.lines, at, at+1)
	case n < 8:
		x.spoilt.change("a line twice", kind, x.lines[at][75:], "")
		again := regexp.MustCompile(`"seq":\d+`).ReplaceAllString(x.lines[at], `"seq":0`)
		x.lines = slices.Insert(x.lines, at+1, again)
	case n < 10:
		other := min(at+1+x.r.IntN(3), len(x.lines)-1)
		if other == at {
			return false
		}
		x.spoilt.change("two lines exchanged", kind+" with "+typed.FindStringSubmatch(x.lines[other])[1],
			fmt.Sprint(at+1), fmt.Sprint(other+1))
		x.lines[at], x.lines[other] = x.lines[other], x.lines[at]
	default:
		return x.spoilLine(at, kind)
	}
	return true
}

// table changes a value of a timetable, and has the lines name it by its hash.
func (x *theLines) table(t *testing.T) bool {
	names, _ := filepath.Glob(filepath.Join(x.dir, "timetables", "*.jsonl"))
	name := pick(x.r, names)
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(string(file), "\n")
	byTable := map[string][]int{}
	for i, row := range rows {
		table, _, _ := strings.Cut(row, ":")
		byTable[table] = append(byTable[table], i)
	}
	table := pick(x.r, keysOf(byTable))
	at := pick(x.r, byTable[table])
	row, ok := x.edited(rows[at], "timetable "+strings.Trim(table, `{"`), valuesOf(rows[at]))
	if !ok {
		return false
	}
	rows[at] = row
	text := []byte(strings.Join(rows, ""))
	was := strings.TrimSuffix(filepath.Base(name), ".jsonl")
	hash := fmt.Sprintf("%x", sha256.Sum256(text))
	for i := range x.lines {
		x.lines[i] = strings.ReplaceAll(x.lines[i], was, hash)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(name), hash+".jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}

// spoilLine changes a value of a line: of its data mostly, of its personal part, whose hash follows, or its
// time or type.
func (x *theLines) spoilLine(at int, kind string) bool {
	line := x.lines[at]
	var list []value
	all := valuesOf(line)
	part := "data"
	switch x.r.IntN(10) {
	case 0:
		part = pick(x.r, []string{"time", "type"})
	case 1, 2:
		if strings.Contains(line, `,"personal":{"salt"`) {
			part = "personal"
		}
	}
	for _, v := range all {
		if v.path == "."+part || strings.HasPrefix(v.path, "."+part+".") {
			list = append(list, v)
		}
	}
	if len(list) == 0 || part == "time" && at == len(x.lines)-1 { // what it is signed with must be a time
		return false
	}
	line, ok := x.edited(line, kind, list)
	if ok && part == "personal" {
		i := strings.Index(line, `,"personal":{`)
		if i < 0 {
			return false
		}
		of := strings.TrimSuffix(line[i+len(`,"personal":`):], "}\n")
		hash := fmt.Sprintf(`"personal":"%x"`, sha256.Sum256([]byte(of)))
		line = thePart.ReplaceAllString(line[:i], hash) + line[i:]
	}
	x.lines[at] = line
	return ok
}

// edits are the ways to change a value.
var edits = []string{"another of its kind", "another of its kind", "another kind", "out of range", "null",
	"removed", "added", "given twice", "a word of another line", "an id of another", "swapped",
	"written otherwise"}

// edited changes one of the values of a line.
func (x *theLines) edited(line, kind string, list []value) (string, bool) {
	if len(list) == 0 {
		return line, false
	}
	i := x.r.IntN(len(list))
	v := list[i]
	how := pick(x.r, edits)
	from, to := v.from, v.to
	with, ok := "", true
	switch how {
	case "removed":
		if from = v.member; from == 0 { // it is the whole of a line
			return line, false
		} else if line[from-1] == ',' {
			from--
		} else if line[to] == ',' {
			to++
		}
	case "swapped":
		if i+1 >= len(list) || list[i+1].member <= v.to {
			return line, false
		}
		next := list[i+1]
		with = line[next.member:next.to] + line[v.to:next.member] + line[v.member:v.to]
		from, to = v.member, next.to
	default:
		with, ok = x.instead(how, line, v)
	}
	if !ok || with == line[from:to] {
		return line, false
	}
	text := line[:from] + with + line[to:]
	start := min(from, v.member)
	x.spoilt.change(how, kind+" "+v.path, line[start:to], text[start:from+len(with)])
	return text, true
}

// instead returns what stands in a value's place; false: that cannot be.
func (x *theLines) instead(how, line string, v value) (with string, ok bool) {
	was := line[v.from:v.to]
	switch how {
	case "another of its kind":
		return x.ofItsKind(was, v.kind), true
	case "another kind":
		return pick(x.r, otherKinds), true
	case "out of range":
		return pick(x.r, outOfRange), v.kind == '-' || v.kind >= '0' && v.kind <= '9'
	case "null":
		return "null", true
	case "given twice":
		return was + "," + line[v.member:v.to], true
	case "a word of another line":
		words := x.words[v.path[strings.LastIndexByte(v.path, '.')+1:]]
		if len(words) == 0 {
			return "", false
		}
		return pick(x.r, words), true
	case "an id of another":
		return pick(x.r, x.ids), slices.Contains(x.ids, was)
	case "written otherwise":
		return otherwise(was, v.kind), true
	}
	members := []string{`"zzz":1`, `"by":{"uid":0}`, `"seats":[1]`, `"before":1`, `"reason":"x"`}
	if v.kind == '[' {
		members = otherKinds
	}
	return was[:len(was)-1] + "," + pick(x.r, members) + was[len(was)-1:],
		len(was) > 2 && (v.kind == '{' || v.kind == '[')
}

// ofItsKind returns another value of the kind of one.
func (x *theLines) ofItsKind(was string, kind byte) string {
	switch kind {
	case '"':
		if x.r.IntN(2) == 0 {
			return pick(x.r, texts)
		}
		i := 1 + x.r.IntN(max(1, len(was)-2)) // one letter
		return was[:i] + pick(x.r, []string{"", "x", "0", "A", "_", "Z"}) + was[min(i+1, len(was)-1):]
	case 't', 'f':
		return pick(x.r, []string{"true", "false"})
	case '[':
		inner := strings.Trim(was, "[]")
		return pick(x.r, []string{"[]", "[" + inner + "," + inner + "]"})
	case '{':
		return "{}"
	case 'n':
		return pick(x.r, otherKinds)
	}
	var n int64
	fmt.Sscan(was, &n)
	return fmt.Sprint(pick(x.r, []int64{n + 1, n - 1, 0, 1, 2, -n, n * 2, n + 1000, n - 100, 60, 100}))
}

// otherwise writes the same value with other bytes.
func otherwise(was string, kind byte) string {
	switch {
	case kind == '"' && len(was) > 2 && was[1] != '\\' && was[1] < 0x80:
		return fmt.Sprintf(`"\u%04x`, was[1]) + was[2:]
	case kind == '{' || kind == '[':
		return was[:1] + " " + was[1:]
	case kind == '"' || kind == 't' || kind == 'f' || kind == 'n':
		return was + " "
	}
	return was + ".0"
}

// keysOf returns the keys of a map, in order.
func keysOf[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
