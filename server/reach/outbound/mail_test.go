package outbound

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	from  = "tickets@waybill.example"
	lesia = "lesia@example.com"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("Kyiv", 2*60*60))

// mailer returns a mailer for a server; change may change its configuration.
func mailer(t testing.TB, addr string, change func(*MailConfig)) *Mailer {
	t.Helper()
	cfg := MailConfig{Addr: addr, From: from}
	if change != nil {
		change(&cfg)
	}
	m, err := NewMailer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wantError checks that an error is of the kind it must be, and tells nothing of the recipient.
func wantError(t testing.TB, what string, err error, refused bool, text string) {
	t.Helper()
	if err == nil || errors.Is(err, ErrRefused) != refused || !strings.HasPrefix(err.Error(), "outbound: ") ||
		!strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v; want refused %v, with %q", what, err, refused, text)
	}
	for _, private := range []string{"lesia", "Lesia", "geheim", "no such user", "Rückfahrt"} {
		if err != nil && strings.Contains(err.Error(), private) {
			t.Errorf("%s: the error tells %q: %v", what, private, err)
		}
	}
}

func TestAMessageIsDelivered(t *testing.T) {
	s := new(smtpd).start(t)
	message := Message(from, lesia, "Your ticket", "Hello.\n", "1", noon)
	for range 2 {
		if err := mailer(t, s.addr, nil).Send(t.Context(), lesia, message); err != nil {
			t.Fatal(err)
		}
	}
	commands, _, got := s.seen()
	want := delivery{"FROM:<" + from + "> BODY=8BITMIME", "TO:<" + lesia + ">", string(message)}
	if len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("%q, want two of %q", got, want)
	}
	if commands != "EHLO MAIL RCPT DATA QUIT EHLO MAIL RCPT DATA QUIT" {
		t.Error(commands)
	}
}

// RFC 5321, §4.5.2: a line that starts with a dot arrives as it was.
func TestDotsArriveAsTheyWere(t *testing.T) {
	s := new(smtpd).start(t)
	message := "Subject: x\r\n\r\n.\r\n..\r\n.x\r\nx.\r\n\r\n.\r\nQUIT\r\n"
	if err := mailer(t, s.addr, nil).Send(t.Context(), lesia, []byte(message)); err != nil {
		t.Fatal(err)
	}
	if _, _, got := s.seen(); len(got) != 1 || got[0].message != message {
		t.Errorf("%q", got)
	}
}

// RFC 6531: a server that does not know such addresses is not sent one.
func TestAnAddressBeyondASCIINeedsAServerThatKnowsThem(t *testing.T) {
	s := new(smtpd).start(t)
	err := mailer(t, s.addr, nil).Send(t.Context(), "леся@example.com", []byte("Subject: x\r\n\r\n"))
	if !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if commands, _, got := s.seen(); len(got) != 0 || strings.Contains(commands, "MAIL") {
		t.Errorf("%s, %q", commands, got)
	}
}

func TestCodesTellWhetherAskingAgainIsOfUse(t *testing.T) {
	for _, c := range []struct {
		command, reply string
		refused        bool
		text           string
	}{
		{"connect", "554 no mail here", false, "mail: greeting: 554"},
		{"connect", "421 busy", false, "mail: greeting: 421"},
		{"EHLO", "550 who are you?", false, "mail: ehlo: 55"}, // to HELO, which is asked then
		{"EHLO", "421 busy", false, "mail: ehlo: 421"},
		{"STARTTLS", "554 no", false, "mail: starttls: 554"},
		{"STARTTLS", "454 not now", false, "mail: starttls: 454"},
		{"AUTH", "535 no", false, "mail: auth: 535"},
		{"AUTH", "454 not now", false, "mail: auth: 454"},
		{"AUTH", "334 bW9yZQ==", false, "mail: auth: "},
		{"MAIL", "550 not from you", true, "mail: mail: 550"},
		{"MAIL", "530 sign in first", false, "mail: mail: 530"},
		{"MAIL", "452 full", false, "mail: mail: 452"},
		{"RCPT", "550 no such user <lesia@example.com>", true, "mail: rcpt: 550"},
		{"RCPT", "550-no such user\r\n550 <lesia@example.com>", true, "mail: rcpt: 550"},
		{"RCPT", "451 greylisted <lesia@example.com>", false, "mail: rcpt: 451"},
		{"DATA", "554 no", true, "mail: data: 554"},
		{"DATA", "451 not now", false, "mail: data: 451"},
		{".", "550 spam for lesia@example.com", true, "mail: data: 550"},
		{".", "451 not now, lesia@example.com", false, "mail: data: 451"},
		{"RCPT", "lesia@example.com?", false, "mail: rcpt: no answer"},
		{"RCPT", "99 lesia", false, "mail: rcpt: no answer"},
		{".", hangsUp, false, "mail: data: no answer"},
		{"DATA", hangsUp, false, "mail: data: no answer"},
		{"connect", hangsUp, false, "mail: greeting: no answer"},
		{"EHLO", endless, false, "mail: ehlo: "},
		{"RCPT", endless, false, "mail: rcpt: "},
	} {
		config, roots := certificate()
		replies := map[string]string{c.command: c.reply}
		if c.command == "EHLO" {
			replies["HELO"] = c.reply
		}
		s := (&smtpd{starttls: config, user: "u\x00geheim", replies: replies}).start(t)
		m := mailer(t, s.addr, func(cfg *MailConfig) {
			cfg.User = "u"
			cfg.Password = always("geheim")
			cfg.Roots = roots
		})
		wantError(t, c.command+" "+c.reply,
			m.Send(t.Context(), lesia, []byte("Subject: x\r\n\r\nDear Lesia\r\n")), c.refused, c.text)
		commands, _, got := s.seen()
		if len(got) != 0 {
			t.Errorf("%s %s: delivered", c.command, c.reply)
		}
		answered := c.reply[3] == ' ' || c.reply[3] == '-'
		if answered && c.command != "connect" && !strings.HasSuffix(commands, " QUIT") {
			t.Errorf("%s %s: goes away without a word: %s", c.command, c.reply, commands)
		}
	}
}

// What comes after the answer to the message does not matter.
func TestADeliveredMessageIsDelivered(t *testing.T) {
	for _, reply := range []string{hangsUp, "500 what?", "421 bye", "x", silent} {
		s := (&smtpd{replies: map[string]string{"QUIT": reply}}).start(t)
		m := mailer(t, s.addr, func(cfg *MailConfig) {
			if reply == silent {
				cfg.Timeout = 100 * time.Millisecond
			}
		})
		if err := m.Send(t.Context(), lesia, []byte("Subject: x\r\n\r\n")); err != nil {
			t.Errorf("%s to QUIT: %v", reply, err)
		}
		if _, _, got := s.seen(); len(got) != 1 {
			t.Errorf("%s to QUIT: %q", reply, got)
		}
	}
}

func TestAServerThatNeverAnswersIsLeft(t *testing.T) {
	config, roots := certificate()
	for step, command := range map[string]string{
		"greeting": "connect",
		"ehlo":     "EHLO",
		"starttls": "STARTTLS",
		"auth":     "AUTH",
		"mail":     "MAIL",
		"rcpt":     "RCPT",
		"data":     "DATA",
		"data:":    ".",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &smtpd{starttls: config, user: "u\x00p", replies: map[string]string{command: silent},
			on: func(c string) {
				if c == command {
					cancel()
				}
			}}
		m := mailer(t, s.start(t).addr, func(cfg *MailConfig) {
			cfg.User = "u"
			cfg.Password = always("p")
			cfg.Roots = roots
		})
		err := m.Send(ctx, lesia, []byte("Subject: x\r\n\r\n"))
		// Of a connection alone the client may not know yet when the caller gives up.
		if wantError(t, command, err, false, "outbound: mail: "); !errors.Is(err, context.Canceled) ||
			command != "connect" && !strings.Contains(err.Error(), strings.Trim(step, ":")+": ") {
			t.Errorf("the caller gave up at %s: %v", command, err)
		}
	}
	s := (&smtpd{replies: map[string]string{"connect": silent}}).start(t)
	err := mailer(t, s.addr, func(cfg *MailConfig) {
		cfg.Timeout = 20 * time.Millisecond
	}).Send(t.Context(), lesia, nil)
	if wantError(t, "timeout", err, false, "outbound: mail: "); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // earlier than 30 s
	defer cancel()
	if err := mailer(t, s.addr, nil).Send(ctx, lesia, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	wantError(t, "closed", mailer(t, ln.Addr().String(), nil).Send(t.Context(), lesia, nil), false,
		"mail: connect: dial tcp "+ln.Addr().String())
}

// A recipient is one address, in the command and nowhere else.
func TestARecipientCannotAddToTheCommand(t *testing.T) {
	s := new(smtpd).start(t)
	for _, to := range []string{"", "lesia", "Lesia <lesia@example.com>", "<lesia@example.com>",
		"lesia@example.com> NOTIFY=NEVER", "lesia@example.com\r\nDATA", "lesia@example.com, ivan@example.com",
		"lesia@example.com (Lesia)"} {
		wantError(t, to, mailer(t, s.addr, nil).Send(t.Context(), to, nil), true, "recipient")
	}
	if commands, _, _ := s.seen(); commands != "" {
		t.Error(commands)
	}
}

// Where the Debian package postfix is installed, its test server takes what we send.
func TestPostfixTakesIt(t *testing.T) {
	sink, err := exec.LookPath("smtp-sink")
	if err != nil {
		sink, err = exec.LookPath("/usr/sbin/smtp-sink")
	}
	if err != nil {
		t.Log("no smtp-sink: nothing is sent to it")
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	dir := t.TempDir()
	args := []string{"-d", filepath.Join(dir, "mail."), addr, "10"}
	if os.Getuid() == 0 {
		args = append([]string{"-u", "root"}, args...)
	}
	cmd := exec.Command(sink, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	message := Message(from, lesia, "Квиток", ".\nПривіт\n", "1", noon)
	m := mailer(t, addr, nil)
	for err = m.Send(ctx, lesia, message); err != nil && ctx.Err() == nil; err = m.Send(ctx, lesia, message) {
		// until it listens
	}
	files, _ := filepath.Glob(filepath.Join(dir, "mail.*"))
	if err != nil || len(files) != 1 {
		t.Fatal(err, files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(text), "<"+lesia+">") ||
		!strings.Contains(strings.ReplaceAll(string(text), "\r", ""),
			strings.ReplaceAll(string(message), "\r", "")) {
		t.Errorf("%v %q", err, text)
	}
}
