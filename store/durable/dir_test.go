package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// linked makes a directory with a file and a directory in it, and a link to each of them and to what is
// elsewhere.
func linked(t *testing.T) (d Dir, elsewhere string) {
	t.Helper()
	at := t.TempDir()
	elsewhere = t.TempDir()
	make := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	make(os.MkdirAll(filepath.Join(at, "real/below"), 0o700))
	for _, file := range []string{
		at + "/file", at + "/real/file", at + "/real/below/file", elsewhere + "/file",
	} {
		make(os.WriteFile(file, []byte("as it was"), 0o600))
	}
	for link, to := range map[string]string{
		"link":           "file",        // beside it
		"up":             "./real/file", // below it
		"real/link":      "../file",     // above it
		"real/same":      "file",        // beside it, in a directory
		"away":           filepath.Join(elsewhere, "file"),
		"dangling":       "nothing",
		"dir":            "real",
		"real/dir":       "below",
		"awaydir":        elsewhere,
		"real/below/dir": "..",
	} {
		make(os.Symlink(to, filepath.Join(at, link)))
	}
	return Dir(at), elsewhere
}

// Nothing in a directory is opened through a symbolic link, neither for reading nor for writing, and be it to
// a file of the same directory; nor is anything that lies in a directory that is one.
func TestNoLinkIsFollowed(t *testing.T) {
	d, elsewhere := linked(t)
	for _, name := range []string{
		"link", "up", "real/link", "real/same", "away", "dangling", "dir/file", "dir/below/file",
		"real/dir/file", "awaydir/file", "real/below/dir/file",
	} {
		for op, do := range map[string]func() error{
			"open":   func() error { return closed(d.Open(name)) },
			"append": func() error { return closed(d.Append(name)) },
			"seal":   func() error { return d.Seal(name) },
			"lock":   func() error { return closed(d.Lock(name)) },
			"list":   func() error { _, err := d.List(name); return err },
			"sync":   func() error { return d.SyncDir(name) },
			"mkdir":  func() error { return d.Mkdir(name) },
			"owner":  func() error { return d.CheckOwner(name, os.Geteuid()) },
			"read":   func() error { _, err := ReadFile(d, name); return err },
		} {
			if err := do(); !errors.Is(err, ErrLink) || !strings.Contains(err.Error(), string(d)) {
				t.Errorf("%s of %s: %v", op, name, err)
			}
		}
	}
	for _, dir := range []string{"dir", "real/dir", "awaydir", "real/below/dir"} {
		for op, do := range map[string]func() error{
			"create":  func() error { return closed(d.Create(dir + "/new")) },
			"rename":  func() error { return d.Rename(dir+"/file", dir+"/new") },
			"remove":  func() error { return d.Remove(dir + "/file") },
			"mkdir":   func() error { return d.Mkdir(dir + "/new") },
			"publish": func() error { return PublishText(d, dir, "new", []byte("new")) },
			"list":    func() error { _, err := d.List(dir); return err },
		} {
			if err := do(); !errors.Is(err, ErrLink) {
				t.Errorf("%s in %s: %v", op, dir, err)
			}
		}
	}
	if err := closed(d.Create("dangling")); !errors.Is(err, os.ErrExist) {
		t.Errorf("create of a link: %v", err)
	}
	for _, file := range []string{
		d.path("file"), d.path("real/file"), d.path("real/below/file"),
		elsewhere + "/file",
	} {
		text, err := os.ReadFile(file)
		info, bad := os.Stat(file)
		if string(text) != "as it was" || err != nil || bad != nil || info.Mode() != 0o600 {
			t.Errorf("%s has become %q, %v: %v, %v", file, text, info.Mode(), err, bad)
		}
	}
	if _, err := os.Lstat(d.path("nothing")); err == nil {
		t.Error("a file was made where a link leads")
	}
}

// closed closes what was opened, and returns the error of opening it.
func closed[C io.Closer](c C, err error) error {
	if err == nil {
		c.Close()
	}
	return err
}

// A file that is published takes the place of a link, and is written to no other; a link can be removed.
func TestALinkIsReplacedAndRemoved(t *testing.T) {
	d, _ := linked(t)
	if err := PublishText(d, "real", "same", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove("link"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"file": "as it was", "real/file": "as it was", "real/same": "new",
	} {
		if text, err := ReadFile(d, name); string(text) != want {
			t.Errorf("%s has %q: %v", name, text, err)
		}
	}
}

// The directory itself may be a symbolic link, and is made with those above it.
func TestTheDirectoryItselfMayBeALink(t *testing.T) {
	at := t.TempDir()
	if err := os.Mkdir(filepath.Join(at, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(at, "link")); err != nil {
		t.Fatal(err)
	}
	d := Dir(filepath.Join(at, "link"))
	if err := d.Mkdir("a/b/c"); err != nil {
		t.Fatal(err)
	}
	if err := PublishText(d, "a/b", "file", []byte("text")); err != nil {
		t.Fatal(err)
	}
	if names, err := d.List("a/b"); len(names) != 2 || err != nil {
		t.Error(names, err)
	}
	if text, err := os.ReadFile(filepath.Join(at, "real/a/b/file")); string(text) != "text" {
		t.Error(string(text), err)
	}
	fresh := Dir(filepath.Join(at, "x/y"))
	if err := fresh.Mkdir("z"); err != nil {
		t.Fatal(err)
	}
	if names, err := fresh.List("."); len(names) != 1 || err != nil {
		t.Error(names, err)
	}
}

// A reader finds a file that is published again and again meanwhile, and takes none of them for a link.
func TestAFileThatIsReplacedMeanwhileIsOpened(t *testing.T) {
	d := Dir(t.TempDir())
	if err := PublishText(d, ".", "note", []byte("0")); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		for range 300 {
			if err := PublishText(d, ".", "note", []byte("1")); err != nil {
				ended <- err
				return
			}
		}
		close(ended)
	}()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		if _, err := ReadFile(d, "note"); err != nil {
			t.Fatal(err)
		}
	}
}

// A directory that belongs to another user than the process is refused, with both users named; one that is
// not there is nobody's.
func TestADirectoryOfAnotherUser(t *testing.T) {
	d := Dir(t.TempDir())
	self := os.Geteuid()
	if err := d.CheckOwner("journal", self); err != nil {
		t.Error(err)
	}
	if err := Dir(d.path("none")).CheckOwner("journal", self); err != nil {
		t.Error(err)
	}
	if err := d.Mkdir("journal"); err != nil {
		t.Fatal(err)
	}
	if err := d.CheckOwner("journal", self); err != nil {
		t.Error(err)
	}
	if os.Geteuid() == 0 { // only root can give a directory away
		theirs := Dir(t.TempDir())
		if err := os.Chown(string(theirs), 54321, -1); err != nil {
			t.Fatal(err)
		}
		if err := theirs.CheckOwner("journal", 0); !errors.As(err, new(*OtherOwner)) {
			t.Errorf("root in an empty directory of somebody's: %v", err)
		}
		if err := theirs.CheckOwner("journal", 54321); err != nil {
			t.Error(err)
		}
		if err := theirs.CheckOwner("journal", 12345); err != nil {
			t.Errorf("a user in an empty directory of another's: %v", err)
		}
	}
	err := d.CheckOwner("journal", 54321)
	other, ok := errors.AsType[*OtherOwner](err)
	named := ok && strings.Contains(err.Error(), userName(self)) && strings.Contains(err.Error(), "54321")
	if !named || other.Owner != self || other.Process != 54321 {
		t.Error(err)
	}
}

// What cannot be opened as it is another user's is named, with what mends it; and nobody is told to be root.
func TestAFileOfAnotherUser(t *testing.T) {
	d := Dir(t.TempDir())
	self := os.Geteuid()
	if err := d.Mkdir("journal"); err != nil {
		t.Fatal(err)
	}
	denied := error(&fs.PathError{Op: "open", Path: d.path("journal"), Err: syscall.EACCES})
	err := d.Denied(fmt.Errorf("a start: %w", denied), 54321)
	other, ok := errors.AsType[*OtherOwner](err)
	if !ok || other.Owner != self || !strings.HasSuffix(err.Error(), "chown -R 54321 "+string(d)) ||
		strings.Contains(err.Error(), "run it as") != (self != root) {
		t.Error(err)
	}
	for path, want := range map[string]string{
		"/tmp/wäybill-data": "/tmp/wäybill-data",
		"my data":           "'my data'",
		"-data":             "./-data",
		"- o'clock;":        `'./- o'\''clock;'`,
	} {
		o := OtherOwner{Dir: path, Process: 54321}
		if !strings.HasSuffix(o.Error(), ": chown -R 54321 "+want) {
			t.Errorf("%s: %v", path, &o)
		}
	}
	there := &fs.PathError{Op: "open", Path: "/elsewhere", Err: syscall.EACCES}
	for err, uid := range map[error]int{denied: self, there: 54321, syscall.EACCES: 54321, ErrLocked: 54321} {
		if got := d.Denied(err, uid); got != err {
			t.Errorf("%v is %v", err, got)
		}
	}
	if err := d.Denied(nil, 54321); err != nil {
		t.Error(err)
	}
}

// What is neither a file nor a directory is not opened: a pipe would keep whoever opens it waiting for ever.
func TestAPipeIsNotOpened(t *testing.T) {
	d := Dir(t.TempDir())
	if err := syscall.Mkfifo(d.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open("pipe"); !errors.Is(err, ErrIrregular) {
		t.Errorf("to read: %v", err)
	}
	if _, err := d.Append("pipe"); !errors.Is(err, ErrIrregular) {
		t.Errorf("to write: %v", err)
	}
}

// A directory that is held is found by what was opened, wherever it is now, and never made again at its path;
// what is beside it then is told from it. A folder in it that somebody has removed is made again.
func TestAHeldDirectoryIsNotFoundByItsPath(t *testing.T) {
	at := filepath.Join(t.TempDir(), "data")
	d := Dir(at)
	if err := d.Mkdir("outbox"); err != nil {
		t.Fatal(err)
	}
	lock, err := d.Lock("LOCK")
	if err != nil {
		t.Fatal(err)
	}
	stands := lock.(Checker)
	if err := stands.Check("", nil, 0); err != nil {
		t.Error(err)
	}
	if err := os.Rename(at, at+".old"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Remove("outbox"), Put(d, "outbox", "letter", nil),
		PublishText(d, "reports", "one", nil)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(at + ".old/outbox/letter"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(at); !os.IsNotExist(err) {
		t.Errorf("the directory was made again: %v", err)
	}
	if err := stands.Check("", nil, 0); !os.IsNotExist(err) {
		t.Errorf("of a directory that was moved away: %v", err)
	}
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := stands.Check("", nil, 0); err == nil || !strings.Contains(err.Error(), "is another directory") {
		t.Errorf("of another one in its place: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	if names, err := d.List("."); len(names) > 0 || err != nil {
		t.Errorf("after the lock the path counts again: %q, %v", names, err)
	}
}

// A file that is open for writing is no longer the one of its name where another stands there, where it has
// another size, or where a part of the name has become a link, be it to the same folder.
func TestAnOpenFileIsTheOneOfItsName(t *testing.T) {
	d := Dir(t.TempDir())
	if err := PublishText(d, "journal", "1", []byte("line")); err != nil {
		t.Fatal(err)
	}
	lock, err := d.Lock("LOCK")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	f, err := d.Append("journal/1")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check := func(size int64) error { return lock.(Checker).Check("journal/1", f, size) }
	if err := check(4); err != nil {
		t.Error(err)
	}
	if err := check(5); err == nil || !strings.Contains(err.Error(), "has 4 bytes, but 5 were written") {
		t.Errorf("of another size: %v", err)
	}
	if err := errors.Join(os.Rename(d.path("journal"), d.path("moved")),
		os.Symlink("moved", d.path("journal"))); err != nil {
		t.Fatal(err)
	}
	if err := check(4); !errors.Is(err, ErrLink) {
		t.Errorf("through a link: %v", err)
	}
	if err := errors.Join(os.Remove(d.path("journal")),
		PublishText(d, "journal", "1", []byte("line"))); err != nil {
		t.Fatal(err)
	}
	if err := check(4); err == nil || !strings.Contains(err.Error(), "is another file") {
		t.Errorf("of another file: %v", err)
	}
}

// A file system that cannot sync directories, as that of processes, is named as what it is.
func TestAFileSystemThatCannotSyncDirectories(t *testing.T) {
	if _, err := os.Stat("/proc/self/task"); err != nil {
		return // this system has no file system of processes
	}
	err := Dir("/proc/self").SyncDir("task")
	if err == nil || !strings.Contains(err.Error(), "cannot sync directories") {
		t.Error(err)
	}
}
