package inspect

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"waybill/store/durable"
)

// names returns what is in a folder.
func names(t *testing.T, folder string) []string {
	t.Helper()
	list, err := durable.Dir(folder).List(".")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// file writes a small file where nothing is.
func file(text string) func(at string) error {
	return func(at string) error { return os.WriteFile(at, []byte(text), 0o600) }
}

// folder makes a directory with a file.
func folder(at string) error {
	return errors.Join(os.Mkdir(at, 0o700), os.WriteFile(filepath.Join(at, "x"), nil, 0o600))
}

// A file and a directory appear, also below folders that are not there yet, and in the place of an empty
// directory. Nothing is left beside them.
func TestSomethingNewAppears(t *testing.T) {
	in := t.TempDir()
	for name, write := range map[string]func(string) error{
		"deep/er/file":   file("text"),
		"deep/er/folder": folder,
		"empty":          folder,
	} {
		name = filepath.Join(in, name)
		if filepath.Base(name) == "empty" {
			if err := os.Mkdir(name, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		unseen := func(at string) error {
			if _, err := os.Lstat(name); err == nil {
				t.Errorf("%s is there while it is written", name)
			}
			return write(at)
		}
		if err := PublishNew(name, unseen); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	if got := names(t, filepath.Join(in, "deep/er")); !slices.Equal(got, []string{"file", "folder"}) {
		t.Errorf("there are %q", got)
	}
}

// What is there stays as it is, be it there before or made meanwhile; what cannot be written leaves nothing.
func TestWhatIsThereStays(t *testing.T) {
	in := t.TempDir()
	name := filepath.Join(in, "out")
	for what, make := range map[string]func(at string) error{"a file": file("mine"), "a folder": folder} {
		for _, before := range []bool{true, false} {
			if before {
				if err := make(name); err != nil {
					t.Fatal(err)
				}
			}
			err := PublishNew(name, func(at string) error {
				if before {
					t.Error("it is written, though something is there")
					return nil
				}
				return errors.Join(folder(at), make(name))
			})
			if err == nil || err.Error() != name+" is there already" {
				t.Errorf("where %s is there: %v", what, err)
			}
			info, err := os.Lstat(name)
			if err != nil || info.IsDir() != (what == "a folder") || len(names(t, in)) != 1 {
				t.Errorf("%s is there no more: %v, %q", what, err, names(t, in))
			}
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	full := errors.New("no room")
	failing := func(at string) error { return errors.Join(folder(at), full) }
	if err := PublishNew(name, failing); !errors.Is(err, full) {
		t.Error(err)
	}
	if left := names(t, in); len(left) > 0 {
		t.Errorf("what cannot be written leaves %q", left)
	}
	if err := PublishNew(filepath.Join(in, "none", "..", "out", "."), folder); err != nil {
		t.Error(err)
	}
	if err := PublishNew(filepath.Join(in, "out/x/y"), folder); err == nil {
		t.Error("a folder appears in a file")
	}
}

// While one writes to a path, another is told, and those who write elsewhere are in nobody's way. What was
// left goes, but not what only has such a name.
func TestOneWritesToAPathAtATime(t *testing.T) {
	in := t.TempDir()
	name := filepath.Join(in, "out")
	left := name + unfinished + "1"
	alien := name + unfinished + "2"
	for _, dir := range []string{left, alien} {
		if err := folder(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(left, inWork), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := PublishNew(name, func(at string) error {
		if got := names(t, in); slices.Contains(got, filepath.Base(left)) || len(got) != 2 {
			t.Errorf("there are %q", got)
		}
		second := PublishNew(name, folder)
		if second == nil || second.Error() != name+" is being written by another process" {
			t.Errorf("the second is told %v", second)
		}
		return errors.Join(folder(at), PublishNew(name+"2", folder))
	})
	if err != nil {
		t.Error(err)
	}
	if got := names(t, in); !slices.Equal(got, []string{"out", filepath.Base(alien), "out2"}) {
		t.Errorf("there are %q", got)
	}
}
