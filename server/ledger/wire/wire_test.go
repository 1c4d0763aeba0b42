package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// generic reads any document with the Reader, the way a handler reads one.
func generic(r *Reader) any {
	switch c := r.peek(); {
	case c == '{':
		m := map[string]any{}
		r.Object(func(name []byte) { k := string(name); m[k] = generic(r) })
		return m
	case c == '[':
		list := []any{}
		r.Array(func(int) { list = append(list, generic(r)) })
		return list
	case c == '"':
		return r.String()
	case c == 't' || c == 'f':
		return r.Bool()
	case c == 'n':
		r.Skip()
		return nil
	}
	var n any
	dec := json.NewDecoder(bytes.NewReader(r.Raw()))
	dec.UseNumber()
	dec.Decode(&n)
	return n
}

// duplicated reports whether any object of a valid document has a member twice, or more than the reader
// takes.
func duplicated(dec *json.Decoder) bool {
	start, err := dec.Token()
	if err != nil {
		return false
	}
	found := false
	seen := map[any]bool{}
	n := 0
	if d, ok := start.(json.Delim); ok {
		for dec.More() {
			if d == '{' {
				name, _ := dec.Token()
				found = found || seen[name] || n >= MaxMembers
				seen[name] = true
				n++
			}
			found = duplicated(dec) || found
		}
		dec.Token()
	}
	return found
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e+3,true,false,null,"x\u00e9\ud83d\ude00\n"],"b":{}}`, `{"a":1,"a":2}`, `"\ud800"`,
		`[1,]`, `{"a" : 1 } x`, `01`, `-`, `1.`, "\"\x01\"",
		`"` + strings.Repeat(`\\`, 9) + `"`, strings.Repeat("[", 40), "\xff", "", ` `, `nul`, `{"a"}`, `{,}`, `"\x"`, `"\u12"`, `[[]`, `1e`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		r := NewReader(doc)
		got := generic(r)
		r.End()
		if len(r.Problems) > 0 {
			// What is refused, encoding/json refuses as well, or it is one of the strictnesses.
			depth := bytes.Count(doc, []byte{'['}) + bytes.Count(doc, []byte{'{'})
			if json.Valid(doc) && utf8.Valid(doc) && depth < MaxDepth && !bytes.Contains(doc, []byte(`\u`)) &&
				!duplicated(json.NewDecoder(bytes.NewReader(doc))) {
				t.Fatalf("%q is refused: %v", doc, r.Problems)
			}
			return
		}
		var want any
		dec := json.NewDecoder(bytes.NewReader(doc))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q is read, but %v", doc, err)
		}
		if _, err := dec.Token(); err != io.EOF {
			t.Fatalf("%q has something after it", doc)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q\n got %v\nwant %v", doc, got, want)
		}
	})
}

func TestReaderComplainsOfEverythingAtItsPlace(t *testing.T) {
	r := NewReader([]byte(`{"a":1,"B":"x","list":[{"a":null},{"a":"y"},7],"a":"z","n":1.5}`))
	var read func()
	read = func() {
		r.Fields(May("a", func() { _ = r.String() }), May("n", func() { r.Int() }),
			May("list", func() { r.Array(func(int) { read() }) }))
	}
	read()
	r.End()
	var got []string
	for _, p := range r.Problems {
		got = append(got, p.Field+" "+p.Message)
	}
	want := "a must be a string; B is not a known field; list[0].a must not be null; " +
		"list[2] must be an object; a is given twice; n must be a whole number"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func FuzzWriterString(f *testing.F) {
	for _, s := range []string{"", "Київ", "a\"b\\c\n\t\r\x00\x1f", "\xff\xfe", "\u2028<&>", "😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var w Writer
		w.Object("")
		w.String("s", s)
		w.EndObject()
		var got struct{ S string }
		if err := json.Unmarshal(w.B, &got); err != nil {
			t.Fatalf("%q gives %s: %v", s, w.B, err)
		}
		if got.S != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Fatalf("%q gives %q", s, got.S)
		}
		r := NewReader(w.B)
		r.Object(func([]byte) {
			if back := r.String(); utf8.ValidString(s) && back != s {
				t.Fatalf("%q reads back as %q", s, back)
			}
		})
	})
}

func FuzzWriterNumbers(f *testing.F) {
	for _, n := range []int64{0, 1, 5, 10, 99, 100, 101, 110, 51250, 51255, -5, -100, 1<<53 + 1} {
		f.Add(n, 50.4501)
	}
	f.Fuzz(func(t *testing.T, n int64, x float64) {
		if n < -1<<60 || n > 1<<60 {
			return
		}
		var w Writer
		w.Array("")
		w.Hundredths("", n)
		w.Int("", n)
		w.Float("", x)
		w.EndArray()
		var list []json.Number
		if err := json.Unmarshal(w.B, &list); err != nil {
			t.Fatalf("%s: %v", w.B, err)
		}
		whole, cents, _ := strings.Cut(string(list[0]), ".")
		if len(cents) > 2 || strings.HasSuffix(cents, "0") {
			t.Fatalf("%d is %s", n, list[0])
		}
		back, _ := strconv.ParseInt(strings.TrimPrefix(whole+(cents + "00")[:2], "-"), 10, 64)
		if n < 0 {
			back = -back
		}
		if back != n || string(list[1]) != fmt.Sprint(n) {
			t.Fatalf("%d is %s and %s", n, list[0], list[1])
		}
	})
}

func TestWriterTimes(t *testing.T) {
	at := time.Date(2026, 11, 20, 8, 5, 9, 7e6, time.UTC)
	for offset, want := range map[int]string{
		7200: `"2026-11-20T10:05:09.007+02:00"`, -34200: `"2026-11-19T22:35:09.007-09:30"`,
		0: `"2026-11-20T08:05:09.007+00:00"`,
	} {
		var w Writer
		if w.LocalTime("", at, offset, false); string(w.B) != want {
			t.Errorf("offset %d: %s, want %s", offset, w.B, want)
		}
	}
	for _, at := range []time.Time{at, time.Unix(0, 0), time.Date(1969, 12, 31, 23, 59, 59, 999e6, time.UTC),
		time.Date(9998, 1, 2, 3, 4, 5, 0, time.UTC)} {
		var w Writer
		if w.Time("", at); string(w.B) != `"`+at.UTC().Format("2006-01-02T15:04:05.000Z")+`"` {
			t.Errorf("%v: %s", at, w.B)
		}
	}
}

func BenchmarkReadBooking(b *testing.B) {
	doc := []byte(`{"offerId":"AfMayG06Xel_ZYYaI9DHn20AAAGh","currency":"UAH","passengers":[{"firstName":"Oleksandra","lastName":"Kovalenko","phones":[{"phone":"+380501234567"}],"email":"oleksandra.kovalenko1@example.com"},{"firstName":"Mykhailo","lastName":"Kovalenko","phones":[{"phone":"+380501234568"}],"email":"mykhailo.kovalenko1@example.com"}]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		r := NewReader(doc)
		r.Object(func([]byte) { r.Skip() })
		if r.End(); r.Err() != nil {
			b.Fatal(r.Err())
		}
	}
}

// What stands in a string as it is ends where a plain loop finds the end, wherever that is among eight bytes
// and whatever stands around it.
func TestOrdinaryBytesEndWhereAPlainLoopFindsTheEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	near := []byte("\x00\x01\x1f !\"#[\\]\x7f\x80\xa2\xdc\xff")
	for range 200_000 {
		b := make([]byte, r.IntN(30))
		for i := range b {
			b[i] = 'a'
			if r.IntN(6) == 0 {
				b[i] = near[r.IntN(len(near))]
			}
		}
		want := bytes.IndexFunc(b, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' })
		if want < 0 {
			want = len(b)
		}
		if got := ordinary(b); got != want {
			t.Fatalf("%q: %d, want %d", b, got, want)
		}
	}
}
