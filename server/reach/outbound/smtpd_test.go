package outbound

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// smtpd is a mail server on the loopback address. It answers as it is told, else as one does that takes
// everything.
type smtpd struct {
	addr     string
	starttls *tls.Config       // nil: not offered
	implicit *tls.Config       // nil: TLS does not come first
	user     string            // and password, with a NUL between; "": AUTH is not offered
	replies  map[string]string // to a command ("connect" and "." too): a reply, or one of those below
	on       func(command string)

	mu       sync.Mutex
	commands []string // in order, as they came; AUTH without what follows
	inTLS    []string // those of them that came by TLS
	got      []delivery
}

const (
	silent  = "silent"   // never answers
	hangsUp = "hangs up" // at once
	endless = "endless"  // a reply that does not end
)

type delivery struct{ from, to, message string }

// start serves until the test is over, and then waits for all it began.
func (s *smtpd) start(t testing.TB) *smtpd {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = ln.Addr().String()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			wg.Go(func() { (&session{smtpd: s, conn: conn}).serve() })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

// seen returns what came so far.
func (s *smtpd) seen() (commands, inTLS string, got []delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.commands, " "), strings.Join(s.inTLS, " "), append(got, s.got...)
}

// session is one connection to a server.
type session struct {
	*smtpd
	conn   net.Conn
	r      *bufio.Reader
	tls    bool
	signed bool
	mail   delivery
}

func (s *session) serve() {
	defer func() { s.conn.Close() }() // which STARTTLS changes
	if s.implicit != nil {
		s.conn = tls.Server(s.conn, s.implicit)
		s.tls = true
	}
	s.r = bufio.NewReader(s.conn)
	if !s.reply("connect", "220 mail.example ESMTP") {
		return
	}
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			return
		}
		command, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		s.mu.Lock()
		s.commands = append(s.commands, command)
		if s.tls {
			s.inTLS = append(s.inTLS, command)
		}
		s.mu.Unlock()
		if !s.command(command, rest) {
			return
		}
	}
}

// command answers one, and reports whether the next may come.
func (s *session) command(command, rest string) bool {
	answer := "250 ok"
	switch command {
	case "EHLO":
		answer = "250-mail.example\r\n250-8BITMIME\r\n250-SIZE 1000000"
		if s.starttls != nil && (!s.tls || s.implicit != nil) {
			answer += "\r\n250-STARTTLS"
		}
		if s.user != "" {
			answer += "\r\n250-AUTH PLAIN LOGIN"
		}
		if answer += "\r\n250 HELP"; rest != "waybill.example" {
			answer = "550 who are you?" // as some answer to localhost
		}
	case "STARTTLS":
		if s.starttls == nil {
			answer = "502 not implemented"
			break
		}
		if !s.reply(command, "220 go ahead") {
			return false
		}
		if s.replies[command] == "" {
			s.conn = tls.Server(s.conn, s.starttls)
			s.tls = true
			s.r = bufio.NewReader(s.conn)
		}
		return true
	case "AUTH":
		answer = "535 5.7.8 wrong credentials"
		if token, plain := strings.CutPrefix(rest, "PLAIN "); plain {
			text, _ := base64.StdEncoding.DecodeString(token)
			if s.user != "" && string(text) == "\x00"+s.user {
				s.signed = true
				answer = "235 welcome"
			}
		}
	case "MAIL":
		if s.user != "" && !s.signed {
			answer = "530 5.7.0 sign in first"
		}
		s.mail = delivery{from: rest}
	case "RCPT":
		s.mail.to = rest
	case "DATA":
		return s.data()
	case "QUIT":
		return s.reply(command, "221 bye") && false
	case "*":
		answer = "500 what?"
	}
	return s.reply(command, answer)
}

// data takes a message as RFC 5321 has it, §4.5.2: lines end in CRLF, and a first dot is taken away.
func (s *session) data() bool {
	if !s.reply("DATA", "354 go on") {
		return false
	}
	if s.replies["DATA"] != "" {
		return true
	}
	var message strings.Builder
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		message.WriteString(strings.TrimPrefix(line, "."))
	}
	if s.mail.message = message.String(); s.replies["."] == "" {
		s.mu.Lock()
		s.got = append(s.got, s.mail)
		s.mu.Unlock()
	}
	return s.reply(".", "250 taken")
}

// reply answers a command, if there is nothing else that is to be answered; it tells whether the connection
// goes on.
func (s *session) reply(command, answer string) bool {
	if s.on != nil {
		s.on(command)
	}
	if told := s.replies[command]; told != "" {
		answer = told
	}
	switch answer {
	case silent:
		io.Copy(io.Discard, s.r)
		return false
	case hangsUp:
		return false
	case endless:
		for {
			if _, err := io.WriteString(s.conn, "250-"+strings.Repeat("on and on ", 50)+"\r\n"); err != nil {
				return false
			}
		}
	}
	_, err := io.WriteString(s.conn, answer+"\r\n")
	return err == nil
}

// certificate makes one of its own for the loopback address, and the roots that trust it.
var certificate = sync.OnceValues(func() (*tls.Config, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4zero}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		panic(err)
	}
	form, err = x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(form)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, roots
})
