// Package outbound sends signed HTTP calls ([Peer]) and e-mail ([Mailer]), whatever they contain.
//
// One call is one attempt; nothing is kept, repeated or logged here. After an error that does not wrap
// [ErrRefused] the peer may have the message or not, and the caller can send it again with the same id. An
// error names the step and the code of the answer. It quotes neither the message nor the peer, which may
// quote the message: errors end in logs.
package outbound

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrRefused is wrapped by errors where the peer said no for good (HTTP 4xx but 408, 425 and 429; SMTP 5yz):
// another attempt is of no use. Any other error may pass.
var ErrRefused = errors.New("refused for good")

const (
	postTimeout = 5 * time.Second
	mailTimeout = 30 * time.Second
	// of a connection: many servers close it after 5 s, and a call must not meet that
	idleTimeout = 4 * time.Second
	maxIdle     = 16        // connections to a peer that wait
	maxAnswer   = 64 << 10  // bytes of an answer's body, and of its header
	maxSaid     = 256 << 10 // bytes that a mail server may send in one delivery
	needsAuth   = 530       // the reply to what may only follow AUTH, or STARTTLS
)

// Peer is an address that JSON is posted to.
type Peer struct {
	url       *url.URL
	secret    []byte
	timeout   time.Duration
	transport *http.Transport
}

// NewPeer checks an address. The secret is what calls are signed with, timeout is for one attempt (0: 5 s).
func NewPeer(address string, secret []byte, timeout time.Duration) (*Peer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Contains(address, "#") {
		// The address is not shown: a password in it may be the mistake.
		return nil, errors.New("outbound: address: must be an absolute http or https URL with a host, " +
			"without user and fragment")
	}
	// No Proxy: the environment must not lead a call elsewhere. A transport by itself follows no redirects.
	transport := &http.Transport{
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    maxIdle,
		MaxResponseHeaderBytes: maxAnswer,
	}
	return &Peer{u, bytes.Clone(secret), cmp.Or(timeout, postTimeout), transport}, nil
}

// Post posts body (JSON) once. The id lets the peer recognize a call that it has had before.
func (p *Peer) Post(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	mac := hmac.New(sha256.New, p.secret)
	mac.Write(body)
	r := &http.Request{Method: http.MethodPost,
		URL:           p.url,
		ContentLength: int64(len(body)),
		Header: http.Header{
			"Content-Type":      {"application/json"},
			"User-Agent":        {"waybill"},
			"Idempotency-Key":   {`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(id) + `"`},
			"Waybill-Signature": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
		}}
	// There is no GetBody: with one, and an Idempotency-Key, the transport would post again by itself.
	r.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := p.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return failed(ctx, "post to "+p.url.Host, 0, false, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		// whose body is the connection, which no timeout ends
		io.CopyN(io.Discard, resp.Body, maxAnswer+1) // to its end, so that the connection can be used again
	}
	code := resp.StatusCode
	if code/100 == 2 {
		return nil
	}
	mayPass := []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}
	err = failed(ctx, "post to "+p.url.Host, code, code/100 == 4 && !slices.Contains(mayPass, code), nil)
	return &answered{err, resp.Header.Get("Retry-After")}
}

// answered is the error of an answer, with what it says of another attempt.
type answered struct {
	error
	retryAfter string
}

// Unwrap returns the error without that.
func (a *answered) Unwrap() error { return a.error }

// RetryAfter returns how long a peer has asked to wait before another attempt (RFC 9110, §10.2.3), by the
// error of the last one: 0 where it did not say it.
func RetryAfter(err error) time.Duration {
	a, ok := errors.AsType[*answered](err)
	if !ok {
		return 0
	}
	// Of a number that is too large, what is returned beside the error is the largest.
	seconds, err := strconv.ParseUint(a.retryAfter, 10, 31)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(a.retryAfter)
	if err != nil {
		return 0
	}
	return max(0, time.Until(at))
}

// MailConfig names a mail server, and how to sign in there.
type MailConfig struct {
	Addr string // HOST:PORT
	From string // a bare address
	User string // who signs in; "": nobody
	// Password is asked for at each sign-in, and sent by TLS only, but to a loopback address.
	Password func() (string, error)
	// "": implicit on port 465, else STARTTLS where offered; "implicit", "starttls" (required), "none"
	TLS     string
	Roots   *x509.CertPool // nil: the system's
	Timeout time.Duration  // of the whole of one delivery; 0: 30 s
}

// Mailer delivers e-mail to one server.
type Mailer struct {
	cfg  MailConfig
	host string
}

// NewMailer checks a configuration.
func NewMailer(cfg MailConfig) (*Mailer, error) {
	host, port, err := net.SplitHostPort(cfg.Addr)
	n, noPort := strconv.ParseUint(port, 10, 16)
	// as net/smtp has it
	secret := cfg.User != "" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, host)
	switch {
	case err != nil || host == "" || noPort != nil || n == 0:
		return nil, fmt.Errorf("outbound: mail server: %q is not HOST:PORT", cfg.Addr)
	case !bare(cfg.From):
		return nil, fmt.Errorf("outbound: sender: %q is not a bare e-mail address", cfg.From)
	case !slices.Contains([]string{"", "implicit", "starttls", "none"}, cfg.TLS):
		return nil, fmt.Errorf("outbound: TLS: %q is not implicit, starttls, none or nothing", cfg.TLS)
	case secret && cfg.TLS == "none":
		return nil, fmt.Errorf("outbound: TLS: without it no password is sent to %s", host)
	case cfg.TLS == "" && n == 465:
		cfg.TLS = "implicit"
	case cfg.TLS == "" && secret:
		cfg.TLS = "starttls" // else somebody in between can take the offer away and read the password
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, mailTimeout)
	return &Mailer{cfg, host}, nil
}

// bare reports whether s is an e-mail address without a name, brackets or comments.
func bare(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s
}

// Send delivers a message, as [Message] gives it, to one recipient over a connection of its own. The answer
// after its last line decides. A refusal before MAIL, or 530, is about the sender and may pass. A recipient
// that is no bare address is refused without a connection.
func (m *Mailer) Send(ctx context.Context, to string, message []byte) error {
	if !bare(to) {
		return fmt.Errorf("outbound: mail: recipient: not a bare e-mail address: %w", ErrRefused)
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.cfg.Addr)
	if err != nil {
		return failed(ctx, "mail: connect", 0, false, err)
	}
	defer conn.Close()
	// The connection ends with the time, or when the caller gives up.
	defer context.AfterFunc(ctx, func() {
		conn.SetDeadline(time.Unix(1, 0))
	})()
	var c *smtp.Client
	for _, step := range m.steps(conn, &c, to, message) {
		if err := step.take(); err != nil {
			reply, answered := errors.AsType[*textproto.Error](err)
			if !answered { // no QUIT: it would end an open DATA, and half a message be delivered
				return failed(ctx, "mail: "+step.name, 0, false, err)
			}
			if c != nil {
				c.Quit()
			}
			return failed(ctx, "mail: "+step.name, reply.Code, step.final && reply.Code/100 == 5 &&
				reply.Code != needsAuth, nil)
		}
	}
	c.Quit() // the message is delivered, whatever the answer
	return nil
}

// mailStep is one step of a delivery.
type mailStep struct {
	name  string
	final bool // 5yz is about the message, not about the sender
	take  func() error
}

// steps returns the steps of a delivery, the first of which makes the client.
func (m *Mailer) steps(conn net.Conn, c **smtp.Client, to string, message []byte) []mailStep {
	config := &tls.Config{
		ServerName: m.host,
		RootCAs:    m.cfg.Roots,
	}
	return []mailStep{
		{"greeting", false, func() (err error) {
			conn := net.Conn(limitedConn{conn, io.LimitReader(conn, maxSaid)})
			if m.cfg.TLS == "implicit" {
				conn = tls.Client(conn, config)
			}
			*c, err = smtp.NewClient(conn, m.host)
			return err
		}},
		// some servers turn net/smtp's "localhost" away
		{"ehlo", false, func() error { return (*c).Hello(domain(m.cfg.From)) }},
		{"starttls", false, func() (err error) {
			offered, _ := (*c).Extension("STARTTLS")
			if m.cfg.TLS == "starttls" || m.cfg.TLS == "" && offered {
				err = (*c).StartTLS(config)
			}
			return err
		}},
		{"auth", false, func() (err error) {
			password := ""
			if m.cfg.Password != nil {
				password, err = m.cfg.Password()
			}
			if m.cfg.User != "" && err == nil {
				err = (*c).Auth(smtp.PlainAuth("", m.cfg.User, password, m.host))
			}
			return err
		}},
		{"mail", true, func() error { return begin(*c, m.cfg.From, to) }},
		{"rcpt", true, func() error { return (*c).Rcpt(to) }},
		{"data", true, func() error {
			w, err := (*c).Data()
			if err != nil {
				return err
			}
			w.Write(message) // when this fails the last line is not sent, and the server may have said why
			return w.Close()
		}},
	}
}

// begin names the sender, unless the server does not know characters beyond ASCII and the recipient has some.
func begin(c *smtp.Client, from, to string) error {
	offered, _ := c.Extension("SMTPUTF8")
	if !offered && strings.ContainsFunc(to, func(c rune) bool {
		return c > '~'
	}) {
		return &textproto.Error{Code: 553} // as a server that checks
	}
	return c.Mail(from)
}

// limitedConn is a connection of which at most so many bytes are read: net/smtp has no limit of its own.
type limitedConn struct {
	net.Conn
	io.Reader
}

func (c limitedConn) Read(b []byte) (int, error) {
	return c.Reader.Read(b)
}

func domain(address string) string {
	return address[strings.LastIndexByte(address, '@')+1:]
}

// Attachment is a file in an e-mail.
type Attachment struct {
	Name string // plain ASCII
	Type string // as text/html; charset=utf-8
	Text []byte
}

// Message returns an e-mail (RFC 5322), sent at an instant: of plain text, or with attachments of that and of
// them (RFC 2046). The same input gives the same bytes, so that a reader who gets it twice sees the same
// Message-ID. No input adds a header.
func Message(from, to, subject, text, id string, at time.Time, attached ...Attachment) []byte {
	value := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace
	var b bytes.Buffer
	writeField(&b, "From", value(from))
	writeField(&b, "To", value(to))
	writeSubject(&b, value(subject))
	writeField(&b, "Date", at.UTC().Format(time.RFC1123Z))
	writeField(&b, "Message-ID", "<"+value(id)+"@"+value(domain(from))+">")
	b.WriteString("MIME-Version: 1.0\r\n")
	const automatic = "Auto-Submitted: auto-generated\r\n\r\n" // no vacation notice answers that (RFC 3834)
	if len(attached) == 0 {
		b.WriteString(plainHeader + automatic)
		writePlain(&b, text)
		return b.Bytes()
	}
	// No line of text is like it: what is quoted printable ends no line so, and Base64 has no dash.
	sum := sha256.Sum256([]byte(id))
	boundary := fmt.Sprintf("waybill=%x", sum[:12])
	next := "\r\n--" + boundary // whose line end is its own, and not that of what comes before
	b.WriteString("Content-Type: multipart/mixed; boundary=\"" + boundary + "\"\r\n" + automatic)
	b.WriteString(next + "\r\n" + plainHeader + "\r\n")
	writePlain(&b, text)
	for _, a := range attached {
		b.WriteString(next + "\r\n")
		b.WriteString("Content-Type: " + value(a.Type) + "\r\n")
		b.WriteString("Content-Disposition: attachment; filename=\"" + value(a.Name) + "\"\r\n")
		b.WriteString("Content-Transfer-Encoding: base64\r\n\r\n")
		writeBase64(&b, a.Text)
	}
	b.WriteString(next + "--\r\n")
	return b.Bytes()
}

// deliveryDate is the field with the instant at which an e-mail became a file.
const deliveryDate = "Delivery-Date"

// Delivered returns an e-mail with the instant at which it becomes a file, rounded up to whole seconds.
func Delivered(letter []byte, at time.Time) []byte {
	at = at.Add(time.Second - 1).Truncate(time.Second)
	var b bytes.Buffer
	writeField(&b, deliveryDate, at.UTC().Format(time.RFC1123Z))
	b.Write(letter)
	return b.Bytes()
}

const plainHeader = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: " +
	"quoted-printable\r\n"

// writePlain writes a text, quoted printable.
func writePlain(b *bytes.Buffer, text string) {
	w := quotedprintable.NewWriter(b) // which makes every line end CRLF
	io.WriteString(w, strings.TrimSuffix(text, "\n")+"\n")
	w.Close()
}

// writeBase64 writes a file in lines.
func writeBase64(b *bytes.Buffer, file []byte) {
	for some := range slices.Chunk(file, maxHeaderLine/4*3) {
		b.WriteString(base64.StdEncoding.EncodeToString(some) + "\r\n")
	}
}

const maxHeaderLine = 76 // characters of a header's line (RFC 2047, 2)

// writeField writes a field of the header, which can only be broken before its value.
func writeField(b *bytes.Buffer, name, value string) {
	if len(name)+len(": ")+len(value) > maxHeaderLine {
		name += ":\r\n"
	} else {
		name += ":"
	}
	b.WriteString(name + " " + value + "\r\n")
}

// writeSubject writes the subject: as it is where it is ASCII and short, else as encoded words (RFC 2047),
// one a line.
func writeSubject(b *bytes.Buffer, subject string) {
	const name = "Subject: "
	plain := !strings.ContainsFunc(subject, func(c rune) bool {
		return c < ' ' || c > '~'
	})
	if plain && !strings.Contains(subject, "=?") && len(name)+len(subject) <= maxHeaderLine {
		b.WriteString(name + subject + "\r\n")
		return
	}
	const start, end = "=?utf-8?b?", "?="
	// bytes in a word, also on the first line
	most := (maxHeaderLine - len(name) - len(start) - len(end)) / 4 * 3
	separator := name
	for subject != "" {
		n := wordEnd(subject, most)
		b.WriteString(separator + start + base64.StdEncoding.EncodeToString([]byte(subject[:n])) + end +
			"\r\n")
		subject = subject[n:]
		separator = " "
	}
}

// wordEnd returns how many bytes of a text an encoded word with room for so many takes: no word ends within a
// character.
func wordEnd(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for most > 1 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}

// failed is the error of a step, with the code of the answer, or (0) with the error of the connection. Other
// errors are not shown: net/http and net/smtp quote what they cannot read.
func failed(ctx context.Context, step string, code int, refused bool, err error) error {
	network, broken := errors.AsType[*net.OpError](err)
	certificate, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case refused:
		err = fmt.Errorf("%d: %w", code, ErrRefused)
	case code != 0:
		err = errors.New(strconv.Itoa(code))
	case ctx.Err() != nil:
		err = ctx.Err()
	case broken:
		err = network
	case untrusted:
		err = certificate
	default:
		err = errors.New("no answer, or an unreadable one")
	}
	return fmt.Errorf("outbound: %s: %w", step, err)
}
