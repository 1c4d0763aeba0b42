package outbound

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
)

// read reads a message as a mail program does.
func read(t testing.TB, message []byte) (header mail.Header, subject, text string) {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(message))
	if err != nil {
		t.Fatalf("%v: %q", err, message)
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Errorf("%v: %q", err, message)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Errorf("%v: %q", err, message)
	}
	return m.Header, subject, string(body)
}

func TestAMessageIsWhatRFC5322Says(t *testing.T) {
	got := Message(from, lesia, "Your ticket", "Seat 4 = window\nKyïv\n", "uF3bx_1-a", noon)
	want := strings.ReplaceAll(`From: tickets@waybill.example
To: lesia@example.com
Subject: Your ticket
Date: Fri, 20 Nov 2026 10:00:00 +0000
Message-ID: <uF3bx_1-a@waybill.example>
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable
Auto-Submitted: auto-generated

Seat 4 =3D window
Ky=C3=AFv
`, "\n", "\r\n")
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !bytes.Equal(got, Message(from, lesia, "Your ticket", "Seat 4 = window\nKyïv\n", "uF3bx_1-a",
		noon.UTC())) {
		t.Error("another time it is another message")
	}
}

func TestSubjectAndTextArriveAsTheyWere(t *testing.T) {
	long := strings.Repeat("Київ – Warszawa Zachodnia, ", 60)
	for _, c := range []struct{ subject, text, want string }{
		{"", "", "\r\n"},
		{"Ваш квиток: Київ – Warszawa", "Привіт, Лесю!\n\n.\n..\nДо зустрічі\n", "Привіт, Лесю!\r\n\r\n.\r\n..\r\nДо зустрічі\r\n"},
		{"Plain", "no line end", "no line end\r\n"},
		{"Plain", "CRLF\r\nand CR\rand LF\n", "CRLF\r\nand CR\r\nand LF\r\n"},
		{"Plain", "a space at the end \n\tand a tab\t", "a space at the end \r\n\tand a tab\t\r\n"},
		{strings.Repeat("A plain subject that is long ", 8), "x", "x\r\n"},
		{"=?utf-8?b?0Jo=?=", "x", "x\r\n"},
		{strings.Repeat("\U0001f68c", 40), "x", "x\r\n"},
		{long, long + "\nFrom here\n" + long, long + "\r\nFrom here\r\n" + long + "\r\n"},
	} {
		message := Message(from, lesia, c.subject, c.text, "1", noon)
		if _, subject, text := read(t, message); subject != c.subject || text != c.want {
			t.Errorf("%q %q arrive as %q %q", c.subject, c.text, subject, text)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(message), "\r\n"), "\r\n") {
			if len(line) > 76 || strings.ContainsAny(line, "\r\n") ||
				strings.ContainsFunc(line, func(r rune) bool {
					return r > '~'
				}) {
				t.Errorf("the line %q", line)
			}
		}
		if !bytes.HasSuffix(message, []byte("\r\n")) || c.text != "" &&
			bytes.HasSuffix(message, []byte("\r\n\r\n")) {
			t.Errorf("its end is %q", message[len(message)-10:])
		}
	}
}

// What an e-mail carries arrives as it was, after the text; the same is the same bytes.
func TestAttachmentsArriveAsTheyWere(t *testing.T) {
	files := []Attachment{
		{"ticket.html", "text/html; charset=utf-8", []byte(strings.Repeat("<p>Квиток --waybill</p>\r\n", 50))},
		{"ticket.ics", "text/calendar; charset=utf-8", []byte("BEGIN:VCALENDAR\r\n")},
		{"empty", "application/octet-stream", nil},
	}
	message := Message(from, lesia, "Квиток", "Привіт\n.\n--waybill=\n", "1", noon, files...)
	m, err := mail.ReadMessage(bytes.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		t.Fatal(kind, err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	text, err := parts.NextPart() // which decodes what is quoted printable
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(text); err != nil || string(body) != "Привіт\r\n.\r\n--waybill=\r\n" {
		t.Errorf("%q, %v", body, err)
	}
	for _, f := range files {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
		if err != nil || !bytes.Equal(body, f.Text) || part.FileName() != f.Name ||
			part.Header.Get("Content-Type") != f.Type {
			t.Errorf("%s: %q, %v", part.FileName(), body, err)
		}
	}
	if _, err := parts.NextPart(); err != io.EOF {
		t.Error(err)
	}
	if !bytes.Equal(message, Message(from, lesia, "Квиток", "Привіт\n.\n--waybill=\n", "1", noon, files...)) {
		t.Error("another time it is another message")
	}
	for line := range strings.SplitSeq(string(message), "\r\n") {
		if len(line) > 76 || strings.ContainsAny(line, "\r\n") {
			t.Errorf("the line %q", line)
		}
	}
}

// What an operator reads of a message is what its reader does.
func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	paper := Attachment{Name: "ticket.html", Type: "text/html; charset=utf-8", Text: []byte("<p>secret</p>")}
	for _, text := range []string{"Привіт\n", "one\ntwo\n", strings.Repeat("довго ", 100) + "\n", "=\n"} {
		for _, papers := range [][]Attachment{nil, {paper}} {
			l, err := ReadMessage(bytes.NewReader(Message(from, lesia, "Квиток", text, "1", noon, papers...)))
			if err != nil {
				t.Fatal(err)
			}
			if l.To != lesia || l.Subject != "Квиток" || strings.ReplaceAll(l.Text, "\r\n", "\n") != text ||
				len(l.Attached) != len(papers) {
				t.Errorf("%q, %d papers: %+v", text, len(papers), l)
			}
		}
	}
}

func TestNoInputAddsAHeader(t *testing.T) {
	for _, evil := range []string{"\r\nBcc: x@example.com", "\nBcc: x@example.com", "\rBcc: x@example.com",
		"\r\n\r\nhello", "\x00\r\n\tBcc: x", "é\r\nBcc: x@example.com"} {
		message := Message(from+evil, lesia+evil, "Subject"+evil, "text"+evil, "id"+evil, noon)
		header, subject, text := read(t, message)
		clean := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(evil)
		if len(header) != 9 || header.Get("Bcc") != "" || subject != "Subject"+clean ||
			header.Get("To") != lesia+clean || !strings.HasPrefix(text, "text") {
			t.Errorf("%q gives %q", evil, message)
		}
		if bytes.Contains(message, []byte{0}) ||
			bytes.Contains(bytes.ReplaceAll(message, []byte("\r\n"), nil), []byte("\r")) ||
			bytes.Contains(bytes.ReplaceAll(message, []byte("\r\n"), nil), []byte("\n")) {
			t.Errorf("%q gives %q", evil, message)
		}
	}
}
