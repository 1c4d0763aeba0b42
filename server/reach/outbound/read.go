package outbound

import (
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"
)

// Letter is an e-mail as its reader sees it.
type Letter struct {
	To, Subject, Date string
	Text              string
	Attached          []string // the names of its attachments
}

// ReadMessage reads an e-mail that Message has written, to show what was sent.
func ReadMessage(from io.Reader) (*Letter, error) {
	m, err := mail.ReadMessage(from)
	if err != nil {
		return nil, err
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		return nil, err
	}
	l := &Letter{
		To:      m.Header.Get("To"),
		Subject: subject,
		Date:    m.Header.Get("Date"),
	}
	return l, l.read(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body)
}

// DeliveredAt returns the instant at which an e-mail became a file.
func DeliveredAt(from io.Reader) (time.Time, error) {
	m, err := mail.ReadMessage(from)
	if err != nil {
		return time.Time{}, err
	}
	return mail.ParseDate(m.Header.Get(deliveryDate))
}

// read reads a part that is shown, or all parts of one that has parts.
func (l *Letter) read(kind, encoding string, body io.Reader) error {
	media, about, err := mime.ParseMediaType(kind)
	if err != nil {
		return err
	}
	if strings.HasPrefix(media, "multipart/") {
		return l.readParts(multipart.NewReader(body, about["boundary"]))
	}
	switch strings.ToLower(encoding) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	l.Text += string(text)
	return err
}

// readParts reads the parts of an e-mail, but only the names of its attachments.
func (l *Letter) readParts(parts *multipart.Reader) error {
	for {
		p, err := parts.NextPart() // it decodes quoted-printable
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if name := p.FileName(); name != "" {
			l.Attached = append(l.Attached, name)
			continue
		}
		err = l.read(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p)
		if err != nil {
			return err
		}
	}
}
