package durable

import (
	"errors"
	"io/fs"
	"os"
)

// Many small files are written without a sync each, and then made durable together:
//
//	err := durable.Put(fsys, "outbox", "1.eml", text)
//	err = durable.Put(fsys, "outbox", "2.eml", text)
//	err = durable.SyncFiles(fsys, "outbox", []string{"1.eml", "2.eml"})

// Put makes a whole small file appear under its name. Until [SyncFiles] has made it durable, a power cut may
// take it away, or empty it.
func Put(fsys FS, dir, name string, text []byte) error {
	temp := dir + "/" + name + TempSuffix
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := createIn(fsys, dir, temp)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(temp, dir+"/"+name)
	}
	if err != nil {
		fsys.Remove(temp)
	}
	return err
}

// few files are synced faster one by one: a sync of all waits for what others have written, too. A hundred of
// 30 KB take 5 to 10 ms together, and 60 to 270 ms one by one; a single one takes 1 ms, and up to 180 ms
// beside other programs that write.
const few = 4

// SyncFiles makes files of a directory durable, and their names: more than a few by one sync of their file
// system, where there is such a thing. A file that is gone is passed over. After an error any of
// them may not be durable: the caller writes all of them again.
func SyncFiles(fsys FS, dir string, names []string) error {
	d, isDir := fsys.(Dir)
	if isDir && len(names) > few {
		err := d.syncFileSystem(dir)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	for _, name := range names {
		err := syncFile(fsys, dir+"/"+name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fsys.SyncDir(dir)
}

func syncFile(fsys FS, name string) error {
	f, err := fsys.Append(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncFileSystem makes all durable that was written to the file system of a directory. Its error is
// errors.ErrUnsupported where the system cannot.
func (d Dir) syncFileSystem(dir string) error {
	f, err := os.Open(d.path(dir))
	if err != nil {
		return err
	}
	return errors.Join(syncAll(f), f.Close())
}
