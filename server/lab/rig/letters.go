package rig

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/server"
)

// Letters reads the e-mails that became files, by what they are about: the subject up to the slash.
func Letters(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "outbox/*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := Parts(t, m)
		about, _, _ := strings.Cut(subject, " /")
		list[about] = subject + "\n\n" + strings.ReplaceAll(string(body), "\r\n", "\n")
	}
	return list
}

// Parts returns the text of an e-mail, and the files that it carries, by their names.
func Parts(t *testing.T, m *mail.Message) (text []byte, files map[string]string) {
	t.Helper()
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if kind == "text/plain" {
		text, err = io.ReadAll(quotedprintable.NewReader(m.Body))
		if err != nil {
			t.Fatal(err)
		}
		return text, nil
	}
	files = map[string]string{}
	r := multipart.NewReader(m.Body, params["boundary"])
	for {
		part, err := r.NextPart()
		if err == io.EOF {
			return text, files
		}
		if err != nil {
			t.Fatal(err)
		}
		if name := part.FileName(); name != "" {
			file, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(file)
			continue
		}
		if text, err = io.ReadAll(part); err != nil { // which decodes what is quoted printable
			t.Fatal(err)
		}
	}
}

// BookForLesia books a journey and returns the booking's id.
func BookForLesia(t *testing.T, s *server.Server, key, query string) (id string, ticket string) {
	t.Helper()
	body := `{"offerId":"` + Offer(t, s, key, query) + `","currency":"EUR","passengers":[` +
		`{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com","phones":[{"phone":"+380441234567"}]}]}`
	b := Call(t, s, key, "POST", "/v2/bookings", body).Data.Booking
	return b.ID, b.Tickets[0].ID
}
