package ledger_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/reach/ticket"
	"waybill/store/checkpoint"
	"waybill/store/tree"
)

// filesOfPage returns the files that journal.md names, in the words of the page.
func filesOfPage(t *testing.T) (names []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/journal.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| file | has |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `(.*?)` \\|").FindAllStringSubmatch(table, -1) {
		names = append(names, row[1])
	}
	if !found || len(names) == 0 {
		t.Fatal("journal.md has no table of files")
	}
	return names
}

// The files that journal.md names are those that the code does.
func TestPageHasEachFile(t *testing.T) {
	earlier := checkpoint.EarlierOf("ID")
	want := []string{
		"FORMAT", "LOCK", "admin.sock", "journal/SEQ.jsonl", "snapshots/SEQ.jsonl", tree.Dir + "/LEVEL",
		ledger.TimetableDir + "/HASH.jsonl",
		checkpoint.File, checkpoint.LogFile, checkpoint.PrivateKeyFile, checkpoint.PublicKeyFile,
		checkpoint.WitnessKeysFile, checkpoint.WitnessedFile, earlier.Log, earlier.Key,
		"torn-SEQ-N.bin", ticket.PublicFile,
		ledger.KeyDir + "/" + ledger.RingFile, ledger.KeyDir + "/" + ledger.TicketFile,
		ledger.KeyDir + "/" + ledger.PeerFile, ledger.KeyDir + "/" + ledger.IDPFile,
		ledger.KeyDir + "/" + ledger.SeedFile,
		ledger.ReportDir + "/ID" + ledger.ReportSuffix, ledger.OutboxDir + "/TICKET.SEQ-N.eml",
	}
	if names := filesOfPage(t); !slices.Equal(names, want) {
		t.Errorf("journal.md has the files\n%s\nand the code\n%s", names, want)
	}
}

// Each file of a directory that was sold in, torn, and copied and served again is of a form that journal.md
// has.
func TestPageHasTheFilesOfADirectory(t *testing.T) {
	dir := t.TempDir()
	sell := func() {
		t.Helper()
		s, key := rig.Demo(t, server.Config{Dir: dir})
		offer := rig.Offer(t, s, key, rig.Bukovel)
		if a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1)); a.Status != 201 {
			t.Fatal(a)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sell()
	if err := os.Remove(filepath.Join(dir, checkpoint.PrivateKeyFile)); err != nil { // now it is a copy
		t.Fatal(err)
	}
	journal, err := os.OpenFile(filepath.Join(dir, rig.JournalFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.WriteString(`{"hash":"`); err != nil || journal.Close() != nil {
		t.Fatal(err)
	}
	sell()
	forms := filesOfPage(t)
	met := map[string]bool{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		i := slices.IndexFunc(forms, func(form string) bool { return isOfForm(name, form) })
		if i < 0 {
			t.Errorf("journal.md does not have %s", name)
		} else {
			met[forms[i]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"torn-SEQ-N.bin", "checkpoints-ID.log", "checkpoint-ID.pub", "tree/LEVEL",
		"timetables/HASH.jsonl"} {
		if !met[form] {
			t.Errorf("the directory has no %s", form)
		}
	}
}

// isOfForm reports whether a file's name is of a form of the page.
func isOfForm(name, form string) bool {
	pattern := regexp.QuoteMeta(form)
	for word, is := range map[string]string{
		"SEQ": "[0-9]+", "N": "[0-9]+", "LEVEL": "[0-9]{2}", "HASH": "[0-9a-f]{64}", "ID": "[A-Za-z0-9_-]+",
		"TICKET": "[A-Za-z0-9_-]{22}",
	} {
		pattern = regexp.MustCompile(`\b`+word+`\b`).ReplaceAllLiteralString(pattern, is)
	}
	return regexp.MustCompile("^" + pattern + "$").MatchString(name)
}
