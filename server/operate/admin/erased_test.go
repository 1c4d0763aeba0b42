package admin_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/evidence"
	"waybill/server/proof/history"
	"waybill/store/durable"
)

// person plays what leaves lines about two persons, and knows all that anybody but the directory may know of
// them: what was sent, what was answered, and the files that were downloaded.
type person struct {
	t     *testing.T
	s     *server.Server
	key   string
	known [][]byte
}

// do sends a request, under an Idempotency-Key unless that is "", and as a user unless cookie is "".
func (p *person) do(method, path, body, key, cookie string, want int) []byte {
	p.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if cookie == "" {
		r.Header.Set("x-api-key", p.key)
	} else {
		r.Header.Set("Cookie", cookie)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	p.s.ServeHTTP(w, r)
	if w.Code != want {
		p.t.Fatalf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, want)
	}
	p.known = append(p.known, []byte(body), w.Body.Bytes(), bytes.TrimSpace(w.Body.Bytes()),
		[]byte(method+" "+path+"\n"+body))
	for _, c := range w.Result().Cookies() {
		if c.Name == "waybill_access" {
			return []byte(c.Name + "=" + c.Value)
		}
	}
	return w.Body.Bytes()
}

// admin does what an operator does, and returns what it prints.
func (p *person) admin(op string, form url.Values) string {
	p.t.Helper()
	var out strings.Builder
	act := &admin.Act{By: ledger.By{UID: 1000}, Form: form, Out: &out}
	if err := p.s.Admin.Do(op, act); err != nil {
		p.t.Fatal(op, err)
	}
	return strings.TrimSpace(out.String())
}

// between returns what stands between two texts.
func between(text []byte, before, after string) string {
	_, rest, _ := strings.Cut(string(text), before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

// live plays it all, and returns the booking.
func (p *person) live(offer, full string) (booking string) {
	const names = `"passengers":[{"firstName":"Xenia","lastName":"Quill","email":"xenia@example.com",` +
		`"phones":[{"phone":"+380501234567"}]},{"firstName":"Yarema","lastName":"Quill"}]}`
	sale := `{"offerId":"` + offer + `","currency":"UAH",` + names
	p.do("POST", "/v2/bookings", `{"offerId":"`+full+`","currency":"UAH",`+names, "refused", "", 409)
	booking = between(p.do("POST", "/v2/bookings", sale, "sale", "", 201), `"booking":{"id":"`, `"`)
	at := "/v2/bookings/" + booking
	p.do("POST", at+"/book", "", "book", "", 200)
	p.do("POST", at+"/book", "", "refused again", "", 409)
	p.do("POST", at+"/pay", "", "pay", "", 200)
	token := p.admin("idtoken", url.Values{"email": {"olena@example.com"}})
	office := string(p.do("POST", "/v2/auth/idp/login", `{"idToken":"`+token+`"}`, "", "x=y", 200))
	for range 2 { // of the one the file is gone when it is erased
		const month = `{"startDate":"2026-11-01T00:00:00Z","endDate":"2026-12-01T00:00:00Z"}`
		id := between(p.do("POST", "/v2/reports/company/orders", month, "", office, 202), `"id":"`, `"`)
		rig.Eventually(p.t, "the report is written", func() bool { return rig.QueuedReports(p.t, p.s) == 0 })
		link := p.do("GET", "/v2/reports/company/orders/"+id+"/download", "", "", office, 200)
		p.do("GET", between(link, `"url":"`, `"`), "", "", office, 200)
	}
	p.do("POST", at+"/cancel", "", "cancel", "", 200)
	return booking
}

// digests returns what somebody may look for who knows a text: its SHA-256 in each form in which one could
// stand in a file, and the text itself where it is no common one.
func digests(text []byte) (list [][]byte) {
	sum := sha256.Sum256(text)
	list = append(list, sum[:], []byte(hex.EncodeToString(sum[:])), fmt.Appendf(nil, "%X", sum))
	for _, form := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		list = append(list, []byte(form.EncodeToString(sum[:])), []byte(form.EncodeToString(sum[:12])))
	}
	return list
}

// filesIn returns all files below a directory, those in an archive each by itself.
func filesIn(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[path], err = os.ReadFile(path)
		if filepath.Ext(path) != ".zip" {
			return err
		}
		archive, err := zip.OpenReader(path)
		if err != nil {
			return err
		}
		defer archive.Close()
		for _, f := range archive.File {
			r, err := f.Open()
			if err != nil {
				return err
			}
			if all[path+"/"+f.Name], err = io.ReadAll(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Decision erasure.whole: who holds the whole directory after an erasure, or a copy of it, or evidence that
// was given away, cannot test a guess of who was erased: no byte is a digest of what can be known without
// the salt.
func TestNothingIsLeftToGuessAnErasedPersonBy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	now := rig.Start
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: func() time.Time { return now }})
	p := &person{t: t, s: s, key: key}
	p.admin("user-add", url.Values{
		"email": {"olena@example.com"}, "first-name": {"Olena"}, "last-name": {"Kovalenko"},
		"password": {"correct horse"}, "company": {"zorevia-lines"}, "role": {"ADMIN"},
		"idp-subject": {"olena-by-hand@example.com"}, "idp-issuer": {"https://idp.example.com"},
	})
	booking := p.live(rig.Offer(t, s, key, rig.KyivLviv), soldOut(t, s, key))
	names := []string{"xenia@example.com", "Xenia", "Quill", "+380501234567", "Yarema", "olena@example.com",
		"olena-by-hand@example.com", "Olena", "Kovalenko"}
	for _, name := range names {
		p.known = append(p.known, []byte(name))
	}
	reports, _ := filepath.Glob(filepath.Join(dir, ledger.ReportDir, "*"))
	if len(reports) != 2 || os.Remove(reports[0]) != nil {
		t.Fatal(reports)
	}
	out := t.TempDir()
	p.admin("forget", url.Values{"email": {"xenia@example.com"}, "reason": {"asked"}})
	p.admin("user-remove", url.Values{"email": {"olena@example.com"}})
	p.admin("forget", url.Values{"email": {"olena@example.com"}, "reason": {"asked"}})
	rig.Eventually(t, "the report is written anew", func() bool { return rig.QueuedReports(t, s) == 0 })
	// A repetition is told nothing, whatever its body.
	for range 2 {
		for _, body := range []string{"{}", string(p.known[4])} {
			if w := rig.KeyedCall(s, key, "sale", "/v2/bookings", body); w.Code != http.StatusNotFound {
				t.Errorf("a repetition is answered %d %s", w.Code, w.Body)
			}
		}
		for _, under := range []string{"book", "refused again", "pay", "cancel"} {
			for _, body := range []string{"", "{}"} {
				w := rig.KeyedCall(s, key, under, "/v2/bookings/"+booking+"/book", body)
				if w.Code != http.StatusNotFound {
					t.Errorf("a repetition under the key %q is answered %d %s", under, w.Code, w.Body)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		s, err = server.Open(server.Config{Dir: dir, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Store.Sign(); err != nil {
		t.Fatal(err)
	}
	_, err := evidence.File(durable.Dir(dir), true, history.Filter{Booking: booking},
		filepath.Join(out, "evidence.zip"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.Fork(durable.Dir(filepath.Join(out, "world")), ledger.CopiedDirs...); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := rig.Received(filepath.Join(out, "standby"), rig.Tailed(t, dir, "copy", 1)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(out, "data"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	files := filesIn(t, out)
	tried := 0
	for _, text := range p.known {
		about := slices.ContainsFunc(names, func(name string) bool {
			return bytes.Contains(text, []byte(name))
		})
		// The hash of a request without names stays in its line, and nowhere else.
		request := bytes.HasPrefix(text, []byte("POST /v2/bookings/"+booking))
		if !about && !request {
			continue
		}
		for _, digest := range digests(text) {
			tried++
			for name, b := range files {
				if (about || strings.Contains(name, "/snapshots/")) && bytes.Contains(b, digest) {
					t.Errorf("%s has a digest of %.80q", strings.TrimPrefix(name, out), text)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d digests were tried", tried)
	}
}

// soldOut returns an offer of a run that is full, so that a sale is refused.
func soldOut(t *testing.T, s *server.Server, key string) string {
	t.Helper()
	offer := rig.Offer(t, s, key, rig.Bukovel)
	for rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1)).Status == http.StatusCreated {
	}
	return offer
}
