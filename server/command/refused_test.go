package command

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// book books a seat of tomorrow, so that the directory has a booking.
func (s *serving) book(t *testing.T) {
	t.Helper()
	day := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	_, offers := s.get(t, "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate="+day, s.key)
	offer := regexp.MustCompile(`"offers":\[\{"id":"([^"]*)"`).FindStringSubmatch(offers)
	if offer == nil {
		t.Fatal(offers)
	}
	body := `{"offerId":"` + offer[1] + `","currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"K"}]}`
	r, _ := http.NewRequest("POST", "http://"+s.addr+"/v2/bookings", strings.NewReader(body))
	r.Header.Set("x-api-key", s.key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
}

// A serve that ends with 78 or 1, for what is wrong with a setting, the clock, or an address, has written no
// line and made no key, and no directory.
func TestAServeThatCannotStartWritesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", dir)
	s.book(t)
	s.stop()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	held := cloned(t, dir)
	if err := os.MkdirAll(filepath.Join(held, "admin.sock", "something"), 0o700); err != nil {
		t.Fatal(err)
	}
	unkeyed := cloned(t, dir)
	if err := os.Remove(filepath.Join(unkeyed, "keys", "outbound")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(unkeyed, "keys", "outbound"), 0o700); err != nil { // it cannot be read
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	free := "127.0.0.1:0"
	refuses(t, fresh, []refusal{
		{1, dir, "address already in use", []string{"-addr", taken.Addr().String()}},
		{78, dir, "-smtp-password-file", []string{"-addr", free, "-smtp", "mail:25", "-smtp-password-file",
			"nowhere"}},
		{78, dir, "-tls-cert", []string{"-addr", free, "-tls-cert", "nowhere", "-tls-key", "nowhere"}},
		{1, held, "admin.sock", []string{"-addr", free}},
		{1, unkeyed, "outbound", []string{"-addr", free}},
		{1, fresh, "address already in use", []string{"-addr", taken.Addr().String()}},
		{78, fresh, "-smtp-password-file", []string{"-addr", free, "-smtp", "mail:25", "-smtp-password-file",
			"nowhere"}},
	})
}

// refusal is how a serve of a directory ends before it has begun.
type refusal struct {
	code      int
	dir, says string
	args      []string
}

// refuses has a directory served in vain in each way, and sees that nothing is changed; fresh is one that is
// not there.
func refuses(t *testing.T, fresh string, list []refusal) {
	t.Helper()
	for _, c := range list {
		before := ""
		if c.dir != fresh {
			before = files(t, c.dir)
		}
		want(t, c.code, c.says, append([]string{"serve", "-data", c.dir}, c.args...)...)
		if c.dir == fresh {
			if _, err := os.Lstat(fresh); err == nil {
				t.Fatalf("%v has made a directory", c.args)
			}
			continue
		}
		if files(t, c.dir) != before {
			t.Fatalf("%v has changed the directory", c.args)
		}
	}
}

// A verb that changes something refuses a directory that has lines and no key to sign more, and changes
// nothing: it would give a standby or a backup a name of its own for ever. Once it was served the verb works.
func TestAVerbRefusesACopy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	backup := filepath.Join(t.TempDir(), "backup")
	want(t, 0, "is sound", "backup", "-data", dir, backup)
	before := files(t, backup)
	for _, verb := range [][]string{
		{"partner", "add", "-data", backup, "anna"},
		{"key", "rotate", "-data", backup},
		{"import", "-data", backup, "../../testdata/demo"},
		{"outbox", "retry", "-data", backup, "all"},
		{"manifest", "-data", backup, "kl-0700", "2030-01-01"},
	} {
		want(t, 1, "(?m)^waybill: .*is a copy.*serve it first.*$", verb...)
	}
	if files(t, backup) != before {
		t.Fatal("a copy was changed")
	}
	serve(t, "-data", backup).stop()
	want(t, 0, "^wb_", "partner", "add", "-data", backup, "anna")
}

// Decision directory.owner: what a restore by root has left, the server's user cannot open. The start names
// the first such file, and chown; nobody is told to run a server as root.
func TestAFileOfAnotherOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("only root can give a directory away; the rule itself is tested in store/durable")
		return
	}
	const user = 54321
	bin, dir := build(t)
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	text, err := os.ReadFile(bin)
	mine := filepath.Join(filepath.Dir(dir), "waybill")
	err = errors.Join(err, executable(mine, text), os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o711))
	for _, name := range []string{mine, filepath.Dir(dir)} {
		err = errors.Join(err, os.Chown(name, user, -1))
	}
	give := func(of int, names ...string) {
		for _, name := range names {
			give := func(path string, _ fs.DirEntry, err error) error {
				return errors.Join(err, os.Lchown(path, of, -1))
			}
			err = errors.Join(err, filepath.WalkDir(filepath.Join(dir, name), give))
		}
	}
	for _, name := range []string{"LOCK", "FORMAT", "checkpoints.log", firstFile, "journal", "keys", "."} {
		give(user, ".")
		give(0, name)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(mine, "serve", "-data", dir, "-addr", "127.0.0.1:0")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, _ := cmd.CombinedOutput()
		says := fmt.Sprintf("(?m)^waybill: %s belongs to the user root .0., but this process runs as %d: "+
			"chown -R %[2]d %s$", filepath.Join(dir, name), user, dir)
		if code := cmd.ProcessState.ExitCode(); code != 78 || !matches(says, string(out)) {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
		if name != firstFile {
			continue
		}
		// So it is of a verb that opens the directory itself.
		cmd = exec.Command(mine, "partner", "add", "-data", dir, "anna")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, _ = cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 78 || !matches(says, string(out)) {
			t.Errorf("partner add: exit %d\n%s", code, out)
		}
	}
}

// Decision directory.hands: a start warns once of keys that others can read, and of a journal that a copy by
// links shares, each with the command that mends it. Decision directory.path: the path may be of any length,
// if it is given as a relative one that is not.
func TestHandsOnADirectory(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	deep := filepath.Join(filepath.Dir(dir), strings.Repeat("deep/", 30))
	err := errors.Join(os.MkdirAll(deep, 0o700), os.Rename(dir, filepath.Join(deep, "my data")))
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(deep, "my data")
	warned := regexp.MustCompile(`"WARN","msg":"(?:other users|a file of the journal).*"run":"([^"]*)"`)
	start := func() (runs [][]string) {
		cmd := exec.Command(bin, "serve", "-data", "my data", "-addr", "127.0.0.1:0")
		cmd.Dir = deep
		p := startCommand(t, cmd)
		verb := exec.Command(bin, "partner", "list", "-data", "my data")
		verb.Dir = deep
		if out, err := verb.CombinedOutput(); p.base == "" || err != nil {
			t.Fatalf("%v: %s%s", err, out, p.said)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		return warned.FindAllStringSubmatch(p.said.String(), -1)
	}
	folder := filepath.Join(dir, "journal", "old") // which has several names, and is no file
	err = os.Mkdir(folder, 0o700)
	if runs := start(); runs != nil || err != nil {
		t.Error(err, runs)
	}
	err = errors.Join(
		os.Remove(folder),
		os.Chmod(filepath.Join(dir, "checkpoint.key"), 0o640),
		os.Chmod(filepath.Join(dir, "keys"), 0o755),
		os.Link(filepath.Join(dir, firstFile), filepath.Join(deep, "link")))
	runs := start()
	if err != nil || len(runs) != 2 {
		t.Fatal(err, runs)
	}
	for _, run := range runs {
		mend := exec.Command("sh", "-c", run[1])
		mend.Dir = deep
		if out, err := mend.CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", run[1], err, out)
		}
	}
	if runs := start(); runs != nil {
		t.Error(runs)
	}
	want(t, 0, "^sound", "verify", "-data", dir)
}

// Decision copies.merged: a copy that was put into a directory that was there, an older one of it or one of
// another, is named as that, by a start and by verify, and nothing is written.
func TestACopyPutIntoADirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	other := filepath.Join(t.TempDir(), "other")
	older := filepath.Join(t.TempDir(), "older")
	for _, d := range []string{dir, other} {
		want(t, 0, "in force", "import", "-data", d, "../../testdata/demo")
	}
	want(t, 0, "is sound", "backup", "-data", dir, older)
	for range 5 {
		want(t, 0, "wb_", "partner", "add", "-data", dir, "anna")
	}
	foreign := filepath.Join(t.TempDir(), "foreign")
	want(t, 0, "is sound", "backup", "-data", other, foreign)
	for what, backup := range map[string]string{"an older one": older, "another's": foreign} {
		merged := filepath.Join(t.TempDir(), "data")
		err := os.CopyFS(merged, os.DirFS(dir))
		if err := errors.Join(err, exec.Command("cp", "-a", backup+"/.", merged+"/").Run()); err != nil {
			t.Fatal(err)
		}
		before := files(t, merged)
		const named = `it looks as if a copy was put into this directory.*put the copy where nothing is`
		want(t, 65, named, "serve", "-data", merged, "-addr", "127.0.0.1:0")
		want(t, 1, "(?m)^waybill: damaged: .*"+named, "verify", "-data", merged)
		if files(t, merged) != before {
			t.Errorf("%s: something was written", what)
		}
	}
}

// What is written to another user's directory its owner could not open: serve and each verb that changes
// something, receive too, refuse one, name both users, and make nothing. Lists read it.
func TestAnotherUsersDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("only root can give a directory away; the rule itself is tested in store/durable")
		return
	}
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	backup := filepath.Join(t.TempDir(), "standby")
	want(t, 0, "is sound", "backup", "-data", dir, backup)
	_, lines := with("", "tail", "-data", dir, "-format", "copy")
	const stranger = 54321
	for _, of := range []string{dir, backup} {
		if err := os.Chown(filepath.Join(of, "journal"), stranger, -1); err != nil {
			t.Fatal(err)
		}
	}
	const both = `(?m)^waybill: .*journal belongs to the user 54321, but this process runs as root \(0\)`
	before := tree(t, dir)
	want(t, 78, both, "serve", "-data", dir, "-addr", "127.0.0.1:0")
	for _, verb := range [][]string{
		{"partner", "add", "-data", dir, "anna"},
		{"key", "rotate", "-data", dir},
		{"import", "-data", dir, "../../testdata/demo"},
		{"forget", "-data", dir, "-email", "a@example.com", "-reason", "asked"},
	} {
		want(t, 78, both, verb...)
	}
	want(t, 0, "0 users", "user", "list", "-data", dir)
	if tree(t, dir) != before {
		t.Error("the directory was changed")
	}
	before = tree(t, backup)
	if code, output := with(lines, "receive", backup); code != 78 || !matches(both, output) {
		t.Error(code, output)
	}
	if tree(t, backup) != before {
		t.Error("the standby was changed")
	}
}
