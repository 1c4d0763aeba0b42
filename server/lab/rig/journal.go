package rig

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/ledger"
	"waybill/server/machines/standby"
	"waybill/server/machines/tail"
	"waybill/server/operate/admin"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// SoldLines returns the lines of 200 bookings for two, on a bus of 1,000 seats.
func SoldLines(b testing.TB) (lines []*journal.Line) {
	dir := b.TempDir()
	s, key := Demo(b, server.Config{Dir: dir})
	Import(b, s,
		FeedWith(b,
			map[string][][2]string{"waybill_buses.txt": {{"bus-zor-11,zorevia,51,",
				"bus-zor-11,zorevia,1000,"}}}))
	q := "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=warsaw&departureDate=2027-02-02"
	body := BookingBody(Call(b, s, key, "GET", q, "").Data.Offers[0].ID, 2)
	for range 200 {
		Call(b, s, key, "POST", "/v2/bookings", body)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	_, err := inspect.Read(durable.Dir(dir), false, func(_ journal.Place, l *journal.Line) error {
		if l.Type == "booking.created" {
			sold := *l
			sold.Data, sold.Personal = bytes.Clone(l.Data), bytes.Clone(l.Personal)
			lines = append(lines, &sold)
		}
		return nil
	})
	if err != nil || len(lines) != 200 {
		b.Fatal(len(lines), err)
	}
	return lines
}

// Rechained gives lines the hashes that they would have been written with: then only what they mean can be
// wrong.
func Rechained(format string, lines []string) string {
	prev := fmt.Sprintf("%x", sha256.Sum256([]byte(format)))
	for i, l := range lines {
		rest := strings.TrimSuffix(l[75:], "\n")
		hashed, personal, found := strings.Cut(rest, `,"personal":{`)
		prev = fmt.Sprintf("%x", sha256.Sum256([]byte(prev+hashed)))
		if lines[i] = `{"hash":"` + prev + `",` + hashed; found {
			lines[i] += `,"personal":{` + personal
		}
		lines[i] += "\n"
	}
	return strings.Join(lines, "")
}

// JournalFile is the first file of a journal.
const JournalFile = "journal/000000000001.jsonl"

// Forget erases an address, or a booking with an id.
func Forget(s *server.Server, field, value string) (string, error) {
	var out bytes.Buffer
	err := s.Admin.Do("forget", &admin.Act{
		By:   ledger.By{UID: 1000},
		Form: url.Values{field: {value}, "reason": {"asked"}},
		Out:  &out,
	})
	return out.String(), err
}

// FilesWith returns the files of a directory in which a text stands.
func FilesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a server has published it, or removed it, meanwhile
		}
		if bytes.Contains(b, []byte(text)) {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// JournalText returns the lines of a directory.
func JournalText(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "journal/*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// Tailed returns what tail writes of a directory that nobody has open.
func Tailed(t *testing.T, dir, format string, from uint64) string {
	t.Helper()
	var out bytes.Buffer
	err := tail.Write(durable.Dir(dir), func() bool { return false }, tail.Options{
		From: from,
		Copy: format == "copy",
	}, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Received gives a standby what it should take, and returns what it says.
func Received(dir, stream string) (said string, err error) {
	var out bytes.Buffer
	err = standby.Receive(durable.Dir(dir), standby.Options{}, strings.NewReader(stream), &out)
	return out.String(), err
}

// Erase takes the personal part with the given text out of a closed directory's journal, as an erasure does.
func Erase(t testing.TB, dir, text string) {
	t.Helper()
	name := filepath.Join(dir, "journal/000000000001.jsonl")
	journal, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	part := regexp.MustCompile(`,"personal":\{[^\n]*` + regexp.QuoteMeta(text) + `[^\n]*\}\n`)
	erased := part.ReplaceAll(journal, []byte(`,"personal":{"erased":"2027-01-02T03:04:05.678Z"}}`+"\n"))
	if err := os.WriteFile(name, erased, 0o600); err != nil || len(erased) == len(journal) {
		t.Fatal("nothing is erased", err)
	}
}
