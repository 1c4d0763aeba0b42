// Package demo makes the demo in a new directory: a timetable, and a partner who can sell it.
//
//	key, err := demo.Make(s, demo.Feed(), io.Discard) // s is open and new
//
// The serve verb does this where only this machine reaches the server, and so does each server of package
// waybilltest.
package demo

import (
	"fmt"
	"io"
	"io/fs"

	"waybill/server"
	"waybill/server/operate/admin"
	"waybill/testdata"
)

// Name is the name of the demo's partner, and that of its timetable in the journal.
const Name = "demo"

// Feed returns the feed of the demo network.
func Feed() fs.FS {
	feed, err := fs.Sub(testdata.Demo, "demo")
	if err != nil {
		panic(err) // the folder was built in
	}
	return feed
}

// Make brings a feed into force in a new directory, adds a partner, and returns the partner's API key. The
// report of the import names the rows that cannot be used, which are skipped.
func Make(s *server.Server, feed fs.FS, report io.Writer) (key string, err error) {
	if err := s.Admin.Import(feed, Name, admin.ImportOptions{}, report); err != nil {
		return "", fmt.Errorf("the timetable: %w", err)
	}
	return s.Admin.AddPartner(Name, nil)
}
