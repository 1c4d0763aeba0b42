package outbound

import (
	"crypto/tls"
	"io/fs"
	"net"
	"strings"
	"testing"
)

const geheim = "geheim" // a password

// The commands tell what went in clear, and what by TLS.
func TestTLSIsUsedAsConfigured(t *testing.T) {
	config, _ := certificate()
	starttls := smtpd{starttls: config}
	implicit := smtpd{implicit: config}
	both := smtpd{implicit: config, starttls: config}
	none := smtpd{}
	for _, c := range []struct {
		tls      string
		server   *smtpd
		error    string // or
		commands string
		inTLS    string
	}{
		{"", &none, "", "EHLO MAIL RCPT DATA QUIT", ""},
		{"", &starttls, "", "EHLO STARTTLS EHLO MAIL RCPT DATA QUIT", "EHLO MAIL RCPT DATA QUIT"},
		{"starttls", &starttls, "", "EHLO STARTTLS EHLO MAIL RCPT DATA QUIT", "EHLO MAIL RCPT DATA QUIT"},
		{"starttls", &none, "mail: starttls: 502", "EHLO STARTTLS QUIT", ""},
		{"none", &starttls, "", "EHLO MAIL RCPT DATA QUIT", ""},
		{"none", &none, "", "EHLO MAIL RCPT DATA QUIT", ""},
		{"implicit", &implicit, "", "EHLO MAIL RCPT DATA QUIT", "EHLO MAIL RCPT DATA QUIT"},
		{"implicit", &both, "", "EHLO MAIL RCPT DATA QUIT", "EHLO MAIL RCPT DATA QUIT"},
		{"implicit", &starttls, "mail: greeting: no answer", "", ""},
	} {
		s := (&smtpd{starttls: c.server.starttls, implicit: c.server.implicit}).start(t)
		m := mailer(t, s.addr, func(cfg *MailConfig) { _, cfg.Roots = certificate(); cfg.TLS = c.tls })
		err := m.Send(t.Context(), lesia, []byte("Subject: x\r\n\r\n"))
		if c.error != "" {
			wantError(t, c.tls, err, false, c.error)
		} else if err != nil {
			t.Errorf("%q: %v", c.tls, err)
		}
		if commands, inTLS, _ := s.seen(); c.commands != "" && (commands != c.commands || inTLS != c.inTLS) {
			t.Errorf("%q: %s, by TLS %s; want %s, by TLS %s", c.tls, commands, inTLS, c.commands, c.inTLS)
		}
	}
}

// Nothing is told to a server that cannot show who it is.
func TestAServerMustShowWhoItIs(t *testing.T) {
	config, roots := certificate()
	for _, mode := range []string{"", "starttls", "implicit"} {
		s := &smtpd{starttls: config, user: "u\x00" + geheim}
		if mode == "implicit" {
			s = &smtpd{implicit: config, user: "u\x00" + geheim}
		}
		s.start(t)
		_, port, _ := net.SplitHostPort(s.addr)
		for name, change := range map[string]func(*MailConfig){
			"unknown authority": func(*MailConfig) {},
			"localhost": func(cfg *MailConfig) {
				cfg.Roots = roots
				cfg.Addr = "localhost:" + port
			}, // another's certificate
		} {
			m := mailer(t, s.addr, func(cfg *MailConfig) {
				cfg.User = "u"
				cfg.Password = always(geheim)
				cfg.TLS = mode
				change(cfg)
			})
			wantError(t, mode+": "+name, m.Send(t.Context(), lesia, nil), false, name)
		}
		commands, inTLS, _ := s.seen()
		if strings.Contains(commands, "AUTH") || strings.Contains(commands, "MAIL") || inTLS != "" {
			t.Errorf("%q: %s", mode, commands)
		}
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	config, roots := certificate()
	for password, text := range map[string]string{geheim: "", "Geheim": "mail: auth: 535"} {
		for _, s := range []*smtpd{{starttls: config}, {implicit: config}, {}} {
			// the last is on this machine
			s.user = "u\x00" + geheim
			s.start(t)
			m := mailer(t, s.addr, func(cfg *MailConfig) {
				if cfg.User, cfg.Password, cfg.Roots = "u", always(password), roots; s.implicit != nil {
					cfg.TLS = "implicit"
				}
			})
			err := m.Send(t.Context(), lesia, []byte("Subject: x\r\n\r\n"))
			if text != "" {
				wantError(t, password, err, false, text)
			} else if _, _, got := s.seen(); err != nil || len(got) != 1 {
				t.Errorf("%v %q", err, got)
			}
		}
	}
	s := (&smtpd{user: "u\x00" + geheim}).start(t)
	wantError(t, "without credentials", mailer(t, s.addr, nil).Send(t.Context(), lesia, nil), false,
		"mail: mail: 530")
	s = new(smtpd).start(t)
	m := mailer(t, s.addr, func(cfg *MailConfig) { cfg.User = "u" })
	wantError(t, "no AUTH", m.Send(t.Context(), lesia, nil), false, "mail: auth: 535")
}

// The password is asked for at each sign-in, as its file may be renewed; one that cannot be read is a failure
// that may pass.
func TestThePasswordMayChange(t *testing.T) {
	s := (&smtpd{user: "u\x00" + geheim}).start(t)
	password, unread := "Geheim", error(nil)
	m := mailer(t, s.addr, func(cfg *MailConfig) {
		cfg.User = "u"
		cfg.Password = func() (string, error) { return password, unread }
	})
	message := []byte("Subject: x\r\n\r\n")
	wantError(t, "the old one", m.Send(t.Context(), lesia, message), false, "mail: auth: 535")
	password, unread = geheim, fs.ErrPermission
	wantError(t, "unread", m.Send(t.Context(), lesia, message), false, "mail: auth")
	unread = nil
	if err := m.Send(t.Context(), lesia, message); err != nil {
		t.Error(err)
	}
}

// The address 0.0.0.0 is this machine's, but none that may have a password in clear.
func TestAPasswordIsNotSentInClear(t *testing.T) {
	config, roots := certificate()
	for name, offer := range map[string]*tls.Config{"offer taken away": nil, "offered": config} {
		s := (&smtpd{starttls: offer, user: "u\x00" + geheim}).start(t)
		_, port, _ := net.SplitHostPort(s.addr)
		m := mailer(t, "0.0.0.0:"+port, func(cfg *MailConfig) {
			cfg.User = "u"
			cfg.Password = always(geheim)
			cfg.Roots = roots
		})
		err := m.Send(t.Context(), lesia, []byte("Subject: x\r\n\r\n"))
		commands, inTLS, _ := s.seen()
		if offer == nil {
			if wantError(t, name, err, false, "mail: starttls: 502"); strings.Contains(commands, "AUTH") {
				t.Errorf("%s: %s", name, commands)
			}
		} else if err != nil || inTLS != "EHLO AUTH MAIL RCPT DATA QUIT" {
			t.Errorf("%s: %v, by TLS %s", name, err, inTLS)
		}
	}
}

func TestAMailConfigurationIsChecked(t *testing.T) {
	for _, c := range []struct {
		cfg  MailConfig
		want string // of the error; "" is none
	}{
		{MailConfig{Addr: "mail.example.com:587", From: from}, ""},
		{MailConfig{Addr: "[::1]:25", From: from, TLS: "none", User: "u"}, ""},
		{MailConfig{Addr: "127.0.0.1:25", From: from, TLS: "none", User: "u"}, ""},
		{MailConfig{Addr: "localhost:25", From: from, TLS: "none", User: "u"}, ""},
		{MailConfig{Addr: "mail.example.com:25", From: from, TLS: "none"}, ""},
		{MailConfig{Addr: "mail.example.com:25", From: from, TLS: "none", User: "u", Password: always(geheim)}, "TLS: without it no password"},
		{MailConfig{Addr: "localhost.example.com:25", From: from, TLS: "none", User: "u"}, "TLS: without it no password"},
		{MailConfig{Addr: "mail.example.com:587", From: from, User: "u"}, ""},
		{MailConfig{Addr: "mail.example.com", From: from}, "HOST:PORT"},
		{MailConfig{Addr: ":25", From: from}, "HOST:PORT"},
		{MailConfig{Addr: "mail.example.com:", From: from}, "HOST:PORT"},
		{MailConfig{Addr: "mail.example.com:0", From: from}, "HOST:PORT"},
		{MailConfig{Addr: "mail.example.com:65536", From: from}, "HOST:PORT"},
		{MailConfig{Addr: "mail.example.com:smtp", From: from}, "HOST:PORT"},
		{MailConfig{Addr: "::1:25", From: from}, "HOST:PORT"},
		{MailConfig{From: from}, "HOST:PORT"},
		{MailConfig{Addr: "mail.example.com:25"}, "sender"},
		{MailConfig{Addr: "mail.example.com:25", From: "tickets"}, "sender"},
		{MailConfig{Addr: "mail.example.com:25", From: "Waybill <tickets@waybill.example>"}, "sender"},
		{MailConfig{Addr: "mail.example.com:25", From: from + "\r\nBcc: x@example.com"}, "sender"},
		{MailConfig{Addr: "mail.example.com:25", From: from, TLS: "yes"}, "implicit, starttls, none or nothing"},
		{MailConfig{Addr: "mail.example.com:25", From: from, TLS: "STARTTLS"}, "implicit, starttls, none or nothing"},
	} {
		m, err := NewMailer(c.cfg)
		if c.want != "" {
			wantError(t, c.cfg.Addr, err, false, c.want)
		} else if err != nil || m.cfg.Timeout != mailTimeout {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
	for addr, want := range map[string]string{
		"mail.example.com:465": "implicit",
		"mail.example.com:587": "",
	} {
		if m := mailer(t, addr, nil); m.cfg.TLS != want {
			t.Errorf("%s: TLS %q, want %q", addr, m.cfg.TLS, want)
		}
	}
}

// always returns a password that does not change.
func always(password string) func() (string, error) {
	return func() (string, error) { return password, nil }
}
