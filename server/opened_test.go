package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// Decision opened.program: each start says which program it was, a server's who its witnesses are; where the
// directory comes from a seed, no program is named.
func TestAStartSaysWhichProgramItWas(t *testing.T) {
	for _, c := range []struct {
		what       string
		verb, seed bool
		want, not  string
	}{
		{"a server", false, false, `"witnesses":[],"program":{"version":"v7"}}`, "no such thing"},
		{"a verb", true, false, `"program":{"version":"v7"}}`, `"witnesses"`},
		{"a server with a seed", false, true, `"witnesses":[]}`, `"program"`},
	} {
		dir := t.TempDir()
		cfg := server.Config{
			Dir: dir,
			Lab: rig.NoClock(),
			Now: func() time.Time { return rig.Start },
		}
		opens := func() {
			s, err := server.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		opens()
		if c.seed {
			name := filepath.Join(dir, ledger.KeyDir, ledger.SeedFile)
			if err := os.WriteFile(name, []byte("7\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg.Verb = c.verb
		cfg.Program = map[string]string{"version": "v7"}
		opens()
		lines := strings.Split(strings.TrimSpace(rig.JournalText(t, dir)), "\n")
		line := lines[len(lines)-1]
		if !strings.Contains(line, c.want) || strings.Contains(line, c.not) {
			t.Errorf("%s: %s, want %s", c.what, line, c.want)
		}
	}
}

// Lines that somebody has appended without the key are taken over by the next start, which says so for ever.
func TestLinesAppendedWithoutTheKeyAreSaid(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, rig.JournalFile)
	text := rig.JournalText(t, dir)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	more := strings.Repeat(" ", 75) + `"seq":5,"synced":4,"time":"2026-11-20T09:00:00.000Z",` +
		`"type":"keys.rotated","data":{}}`
	format, err := os.ReadFile(filepath.Join(dir, "FORMAT"))
	if err != nil {
		t.Fatal(err)
	}
	appended := rig.Rechained(string(format), append(lines, more))
	if !strings.HasPrefix(appended, text[:len(text)-1]) {
		t.Fatal("the lines before are others")
	}
	if err := os.WriteFile(file, []byte(appended), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = server.Open(server.Config{Dir: dir, Lab: rig.NoClock(), Now: func() time.Time {
		return rig.Start.Add(2 * time.Hour)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(rig.JournalText(t, dir), `"unsigned":{"from":5,"lines":1}`) {
		t.Errorf("%s", rig.JournalText(t, dir))
	}
	v, err := verify.Judge(durable.Dir(dir), dir, verify.Beside{}, inspect.Expected{}, "")
	if err != nil || len(v.Remarks) != 1 || v.Remarks[0].Kind != "unsigned" ||
		!strings.Contains(v.Remarks[0].Text, "1 from line 5 on") {
		t.Errorf("%+v, %v", v, err)
	}
}
