package front

import (
	"fmt"
	"io"
	"io/fs"

	"waybill/server"
	"waybill/server/operate/admin"
	"waybill/testdata"
)

// demoName is the name of the demo's partner, and that of its timetable in the journal.
const demoName = "demo"

// DemoFeed returns the feed of the demo network.
func DemoFeed() fs.FS {
	feed, err := fs.Sub(testdata.Demo, "demo")
	if err != nil {
		panic(err) // the folder was built in
	}
	return feed
}

// MakeDemo brings a feed into force in a new directory, adds a partner, and returns the partner's API key.
// The report of the import names the rows that cannot be used, which are skipped. The serve verb does this
// where only this machine reaches the server, and so does each server of package waybilltest.
func MakeDemo(s *server.Server, feed fs.FS, report io.Writer) (key string, err error) {
	if err := s.Admin.Import(feed, demoName, admin.ImportOptions{}, report); err != nil {
		return "", fmt.Errorf("the timetable: %w", err)
	}
	return s.Admin.AddPartner(demoName, nil)
}
