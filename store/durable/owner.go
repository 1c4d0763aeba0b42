package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// OtherOwner is the error of a directory that belongs to another user than the process. What the process
// wrote there its owner could not open: root could write, and the owner's next start would fail.
type OtherOwner struct {
	Dir, Path      string // the data directory, and what belongs to the other one
	Owner, Process int    // users, by number
}

// Error names the directory or file, and both users. Nobody is told to run a server as root: what is root's
// was put there by root.
func (o *OtherOwner) Error() string {
	do := "run it as " + userName(o.Owner)
	if o.Process != root {
		mend := fmt.Sprintf("chown -R %d %s", o.Process, ForShell(o.Dir))
		do = map[bool]string{true: mend, false: do + ", or: " + mend}[o.Owner == root]
	}
	return fmt.Sprintf("%s belongs to the user %s, but this process runs as %s: %s",
		o.Path, userName(o.Owner), userName(o.Process), do)
}

const root = 0 // the user

// plain is a path that no shell reads as more than itself.
var plain = regexp.MustCompile(`^[\pL\pN_./,:@%+=-]+$`)

// ForShell returns a path as it stands in a command that somebody pastes into a shell.
func ForShell(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	if !plain.MatchString(path) {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// userName returns a user's name and number, or the number alone where the system has no name for it.
func userName(uid int) string {
	number := strconv.Itoa(uid)
	u, err := user.LookupId(number)
	if err != nil {
		return number
	}
	return u.Username + " (" + number + ")"
}

// Denied returns *OtherOwner for an error that says no to a file in d which, or a directory above which,
// belongs to another user than uid, as a restore by root leaves it; and any other error as it is.
func (d Dir) Denied(err error, uid int) error {
	on, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(on, fs.ErrPermission) {
		return err
	}
	name, outside := filepath.Rel(string(d), on.Path)
	for outside == nil && filepath.IsLocal(name) {
		// By its path, as the directory itself may be one that cannot be opened.
		if info, unknown := os.Stat(d.path(name)); unknown == nil {
			if other := d.owned(name, info, uid); other != nil {
				return other
			}
		}
		if name == "." {
			break
		}
		name = filepath.Dir(name)
	}
	return err
}

// CheckOwner returns *OtherOwner for a directory in d that belongs to another user than uid. One that is not
// there belongs to nobody, and so does one of a file system that has no owners; but root does not make it in
// a directory that somebody has made for himself.
func (d Dir) CheckOwner(dir string, uid int) error {
	info, err := d.lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if uid == root && dir != "." {
			return d.CheckOwner(".", uid)
		}
		return nil
	}
	if err != nil {
		return err
	}
	return d.owned(dir, info, uid)
}

// owned returns *OtherOwner for a name in d that belongs to another user than uid.
func (d Dir) owned(name string, info fs.FileInfo, uid int) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == uid {
		return nil
	}
	return &OtherOwner{
		Dir:     string(d),
		Path:    d.path(name),
		Owner:   int(stat.Uid),
		Process: uid,
	}
}
