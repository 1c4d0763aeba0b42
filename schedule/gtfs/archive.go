package gtfs

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ErrInvalid is returned for anything that is not a GTFS feed; the error text says why.
var ErrInvalid = errors.New("not a GTFS feed")

// Invalid returns an ErrInvalid that says why.
func Invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

const maxUnpacked = 4 << 30 // bytes of a whole feed

// CheckZip refuses an archive with an entry that leaves it, or that unpacks beyond 4 GiB.
func CheckZip(z *zip.Reader) error {
	var total uint64
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, "/") || strings.Contains(f.Name, `\`) ||
			slices.Contains(strings.Split(f.Name, "/"), "..") {
			return Invalid("the archive's entry %q leaves the archive", f.Name)
		}
		if f.Flags&1 != 0 {
			return Invalid("the archive's entry %q is encrypted", f.Name)
		}
		if f.Method != zip.Store && f.Method != zip.Deflate {
			return Invalid("the archive's entry %q is compressed by the rare method %d; compress it by "+
				"deflate", f.Name, f.Method)
		}
		total += f.UncompressedSize64
		if total > maxUnpacked || f.UncompressedSize64 > maxUnpacked {
			return Invalid("the archive unpacks beyond 4 GiB")
		}
	}
	return nil
}

// calendars are the two files that say on which days trips run; a feed may have one of them.
const calendars = "calendar.txt or calendar_dates.txt"

// required are the files without which there is no feed.
var required = []string{"agency.txt", "stops.txt", "routes.txt", "trips.txt", "stop_times.txt", calendars}

// root returns the directory that holds the feed: the top, or one directly below it. Two feeds are none.
func root(feed fs.FS) (fs.FS, error) {
	entries, err := fs.ReadDir(feed, ".")
	if err != nil {
		return nil, Invalid("%v", err)
	}
	candidates := []string{"."}
	for _, e := range entries {
		if e.IsDir() {
			candidates = append(candidates, e.Name())
		}
	}
	var complete []string
	var nearest, lacks = "", required
	for _, dir := range candidates {
		missing := missingIn(feed, dir)
		if len(missing) == 0 {
			complete = append(complete, dir)
		}
		if len(missing) < len(lacks) {
			nearest = dir
			lacks = missing
		}
	}
	switch {
	case len(complete) == 1:
		return fs.Sub(feed, complete[0])
	case len(complete) > 1:
		return nil, Invalid("it contains %d feeds, %s and %s; import one of them by itself",
			len(complete), placeName(complete[0]), placeName(complete[1]))
	case nearest != "":
		return nil, Invalid("%s has no %s", placeName(nearest), strings.Join(lacks, " and no "))
	}
	for _, pattern := range []string{"*.[zZ][iI][pP]", "*/*.[zZ][iI][pP]"} {
		if found, _ := fs.Glob(feed, pattern); len(found) > 0 {
			return nil, Invalid("it contains %s; unpack that and import it by itself", found[0])
		}
	}
	if found, _ := fs.Glob(feed, "*/*/stop_times.txt"); len(found) > 0 {
		return nil, Invalid("the directory %s has stop_times.txt; import that by itself", path.Dir(found[0]))
	}
	return nil, Invalid("no %s at the top or in one sub-directory", strings.Join(required, ", "))
}

// missingIn returns the required files that a directory lacks.
func missingIn(feed fs.FS, dir string) (list []string) {
	for _, name := range required {
		there := slices.ContainsFunc(strings.Split(name, " or "), func(file string) bool {
			info, err := fs.Stat(feed, path.Join(dir, file))
			return err == nil && !info.IsDir()
		})
		if !there {
			list = append(list, name)
		}
	}
	return list
}

// placeName is the name that an operator uses for a directory of a feed.
func placeName(dir string) string {
	if dir == "." {
		return "the top"
	}
	return "the directory " + dir
}
