package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"strconv"
	"syscall"
)

// OtherOwner is the error of a directory that belongs to another user than the process. What the process
// wrote there its owner could not open: root could write, and the owner's next start would fail.
type OtherOwner struct {
	Dir            string
	Owner, Process int // users, by number
}

// Error names the directory and both users.
func (o *OtherOwner) Error() string {
	return fmt.Sprintf("%s belongs to the user %s, but this process runs as %s: run it as %s",
		o.Dir, userName(o.Owner), userName(o.Process), userName(o.Owner))
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

// CheckOwner returns *OtherOwner for a directory in d that belongs to another user than uid. One that is not
// there belongs to nobody, and so does one of a file system that has no owners; but root does not make it in
// a directory that somebody has made for himself.
func (d Dir) CheckOwner(dir string, uid int) error {
	info, err := d.rooted().Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		const root = 0
		if uid == root && dir != "." {
			return d.CheckOwner(".", uid)
		}
		return nil
	}
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == uid {
		return nil
	}
	return &OtherOwner{
		Dir:     d.rooted().Path(dir),
		Owner:   int(stat.Uid),
		Process: uid,
	}
}
