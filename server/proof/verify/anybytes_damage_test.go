package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Part A: bytes of files that nobody has signed anew.

// damage spoils a file of a copy.
func (b *rich) damage(t *testing.T, c *spoilt) {
	t.Helper()
	copyOf(t, pick(c.r, []string{b.closed, b.killed, b.plain}), c.dir)
	var files []string
	err := filepath.WalkDir(c.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "LOCK" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// Each folder comes as often as the other, and the journal more often.
	byFolder := map[string][]string{}
	for _, name := range files {
		folder := filepath.Base(filepath.Dir(name))
		byFolder[folder] = append(byFolder[folder], name)
	}
	byFolder["z"] = byFolder["journal"]
	byFolder["zz"] = byFolder["journal"]
	folders := keysOf(byFolder)
	for tries := 0; ; tries++ {
		name := pick(c.r, byFolder[pick(c.r, folders)])
		text, err := os.ReadFile(name)
		if err == nil {
			how := pick(c.r, damages)
			err = how.do(&damaging{c, b, name, text}, how.name)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, errOther) || tries > 1000 {
			t.Fatal(err)
		}
	}
}

// damaging is the file that is spoilt.
type damaging struct {
	*spoilt
	b    *rich
	file string
	text []byte
}

// errOther is of a damage that cannot be done to a file.
var errOther = errors.New("another one is to be tried")

// class returns a file's name, in which numbers and hashes are left out.
func (d *damaging) class() string {
	name, _ := filepath.Rel(d.dir, d.file)
	switch folder := filepath.Dir(name); folder {
	case ".", "keys":
		return strings.ReplaceAll(regexpName.ReplaceAllString(name, "NAME"), "\\", "/")
	default:
		return folder + "/"
	}
}

// write puts other bytes in the file's place: a timetable is also another copy's.
func (d *damaging) write(how string, text []byte, before, after []byte) error {
	if bytes.Equal(text, d.text) {
		return errOther
	}
	d.change(how, d.class(), string(before), string(after))
	return errors.Join(os.Remove(d.file), os.WriteFile(d.file, text, 0o600))
}

// replaced writes the file with one part replaced.
func (d *damaging) replaced(how string, from, to int, with string) error {
	text := slices.Concat(d.text[:from], []byte(with), d.text[to:])
	low := max(0, from-20)
	return d.write(how, text, d.text[low:min(to+20, len(d.text))],
		slices.Concat(d.text[low:from], []byte(with), d.text[to:min(to+20, len(d.text))]))
}

// damages are what is done to files.
var damages = []struct {
	name string
	do   func(d *damaging, how string) error
}{
	{"a bit", func(d *damaging, how string) error {
		if len(d.text) == 0 {
			return errOther
		}
		at := d.r.IntN(len(d.text))
		return d.replaced(how, at, at+1, string([]byte{d.text[at] ^ 1<<d.r.IntN(8)}))
	}},
	{"a byte", func(d *damaging, how string) error {
		if len(d.text) == 0 {
			return errOther
		}
		at := d.r.IntN(len(d.text))
		return d.replaced(how, at, at+1, string([]byte{byte(d.r.IntN(256))}))
	}},
	{"a byte more", func(d *damaging, how string) error {
		at := d.r.IntN(len(d.text) + 1)
		return d.replaced(how, at, at, pick(d.r, []string{"\n", " ", "\x00", "x", "\xff", "\r", "\"", "{"}))
	}},
	{"a cut", func(d *damaging, how string) error {
		if len(d.text) == 0 {
			return errOther
		}
		at := d.r.IntN(len(d.text))
		if d.r.IntN(2) == 0 { // near the end
			at = max(0, len(d.text)-1-d.r.IntN(200))
		}
		return d.write(how, d.text[:at], d.text[at:], nil)
	}},
	{"a file missing", func(d *damaging, how string) error {
		d.change(how, d.class(), "it", "")
		return os.Remove(d.file)
	}},
	{"an empty file", func(d *damaging, how string) error { return d.write(how, nil, d.text, nil) }},
	{"a line twice", func(d *damaging, how string) error {
		from, to := d.line()
		return d.replaced(how, to, to, string(d.text[from:to]))
	}},
	{"a line less", func(d *damaging, how string) error {
		from, to := d.line()
		return d.replaced(how, from, to, "")
	}},
	{"zeros", func(d *damaging, how string) error {
		from, to := d.line()
		return d.replaced(how, from, to, strings.Repeat("\x00", to-from))
	}},
	{"another directory's file", anothers},
	{"a number out of range", func(d *damaging, how string) error {
		found := someNumber.FindAllIndex(d.text, -1)
		if len(found) == 0 {
			return errOther
		}
		at := pick(d.r, found)
		return d.replaced(how, at[0], at[1], pick(d.r, outOfRange))
	}},
	{"a member of another kind", func(d *damaging, how string) error { return d.member(how, otherKinds) }},
	{"deep nesting", func(d *damaging, how string) error {
		deep := pick(d.r, []int{200, 20_000, 200_000})
		open, shut := "[", "]"
		if d.r.IntN(2) == 0 {
			open, shut = `{"a":`, "}"
		}
		nested := strings.Repeat(open, deep) + "1" + strings.Repeat(shut, deep)
		if d.member(how, []string{nested}) == nil {
			return nil
		}
		return d.write(how, []byte(nested), d.text, []byte(nested))
	}},
	{"no UTF-8", func(d *damaging, how string) error {
		at := d.r.IntN(len(d.text) + 1)
		bad := pick(d.r, []string{"\xff", "\xc3", "\xed\xa0\x80", "\xfe\xff"})
		return d.replaced(how, at, min(at+1, len(d.text)), bad)
	}},
	{"a link in its place", func(d *damaging, how string) error {
		d.unreadable = true
		return d.moved(how, d.file, d.class())
	}},
	{"a link in its folder's place", func(d *damaging, how string) error {
		folder := filepath.Dir(d.file)
		if folder == d.dir {
			return errOther
		}
		d.unreadable = true
		return d.moved(how, folder, filepath.Base(folder)+"/")
	}},
	{"a pipe in its place", func(d *damaging, how string) error {
		d.unreadable = true
		d.change(how, d.class(), "it", "a FIFO")
		return errors.Join(os.Remove(d.file), syscall.Mkfifo(d.file, 0o600))
	}},
	{"a folder in its place", func(d *damaging, how string) error {
		d.unreadable = true
		d.change(how, d.class(), "it", "a folder")
		return errors.Join(os.Remove(d.file), os.Mkdir(d.file, 0o700))
	}},
	{"a file in its folder's place", func(d *damaging, how string) error {
		folder := filepath.Dir(d.file)
		if folder == d.dir {
			return errOther
		}
		d.unreadable = true
		d.change(how, filepath.Base(folder)+"/", "it", "a file")
		return errors.Join(os.RemoveAll(folder), os.WriteFile(folder, []byte("x"), 0o600))
	}},
	{"a folder missing", func(d *damaging, how string) error {
		folder := filepath.Dir(d.file)
		if folder == d.dir {
			return errOther
		}
		d.change(how, filepath.Base(folder)+"/", "it", "")
		return os.RemoveAll(folder)
	}},
	{"a file more", func(d *damaging, how string) error {
		name := pick(d.r, []string{"notes.txt", "000000000001.jsonl", "000000000061.jsonl",
			"000000000999.jsonl",
			"00", "01", "x.tmp", "A.1000-1.eml"})
		d.change(how, d.class(), "", name)
		name = filepath.Join(filepath.Dir(d.file), name)
		if _, err := os.Lstat(name); err == nil {
			return errOther
		}
		return os.WriteFile(name, d.text, 0o600)
	}},
}

// line returns where a line of the file is.
func (d *damaging) line() (from, to int) {
	at := d.r.IntN(len(d.text) + 1)
	from = bytes.LastIndexByte(d.text[:at], '\n') + 1
	if end := bytes.IndexByte(d.text[from:], '\n'); end >= 0 {
		return from, from + end + 1
	}
	return from, len(d.text)
}

// anothers puts another directory's file of that name in the file's place, or of another name there.
func anothers(d *damaging, how string) error {
	of := d.b.other
	if d.r.IntN(2) == 0 {
		of = pick(d.r, []string{d.b.closed, d.b.killed, d.b.plain})
	}
	name, _ := filepath.Rel(d.dir, d.file)
	text, err := os.ReadFile(filepath.Join(of, name))
	if err != nil || bytes.Equal(text, d.text) {
		there, _ := filepath.Glob(filepath.Join(of, filepath.Dir(name), "*"))
		there = slices.DeleteFunc(there, func(name string) bool {
			info, err := os.Lstat(name)
			return err != nil || !info.Mode().IsRegular()
		})
		if len(there) == 0 {
			return errOther
		}
		if text, err = os.ReadFile(pick(d.r, there)); err != nil {
			return err
		}
	}
	return d.write(how, text, d.text, text)
}

// member replaces a value of a line of JSON.
func (d *damaging) member(how string, with []string) error {
	from, to := d.line()
	line := string(d.text[from:to])
	list := valuesOf(line)
	if len(list) == 0 || !strings.HasPrefix(line, "{") {
		return errOther
	}
	v := pick(d.r, list)
	return d.replaced(how, from+v.from, from+v.to, pick(d.r, with))
}

// moved puts a link in the place of what is moved out of the directory.
func (d *damaging) moved(how, name, class string) error {
	away := d.dir + "away"
	d.change(how, class, "it", "a link to it")
	return errors.Join(os.Rename(name, away), os.Symlink(away, name))
}

// pick returns one of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// value is where one stands in a text of JSON.
type value struct {
	path     string // the names of the members that it is in, and its own
	member   int    // where its member begins, with the name; in a list it is from
	from, to int
	inObject bool
	kind     byte // the first byte of its text
}

// valuesOf returns all values of a line of JSON, as far as it is one.
func valuesOf(line string) (list []value) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	next := func() (token json.Token, from, to int) {
		from = int(d.InputOffset())
		token, err := d.Token()
		for from < len(line) && strings.IndexByte(" \t\r\n,:", line[from]) >= 0 {
			from++
		}
		if err != nil {
			return nil, len(line), len(line)
		}
		return token, from, int(d.InputOffset())
	}
	var read func(path string, member int) bool
	read = func(path string, member int) bool {
		token, from, to := next()
		if from == len(line) {
			return false
		}
		v := value{path, member, from, to, member >= 0, line[from]}
		if member < 0 {
			v.member = from
		}
		at := len(list)
		list = append(list, v)
		if token != json.Delim('{') && token != json.Delim('[') {
			return true
		}
		for d.More() {
			name, member := "", -1
			if token == json.Delim('{') {
				var key json.Token
				key, member, _ = next()
				text, is := key.(string)
				if !is {
					return false
				}
				name = "." + text
			}
			if !read(path+name, member) {
				return false
			}
		}
		_, _, list[at].to = next()
		return true
	}
	if !read("", -1) {
		return nil
	}
	return list
}
