//go:build !lean

package command

import (
	"os"
	"path/filepath"
	"testing"
)

// Decision conform.recorded: exit 0 where nothing contradicts the interface, 1 where something does, and
// where the recording cannot be read.
func TestConformRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asks(t, 1, "has no pair: want files NAME.request and NAME.response", "conform", "-recorded", dir)
	write("a.request", "GET /v2/cities HTTP/1.1\n\n")
	write("a.response", "HTTP/1.1 200 OK\nServer: x\n\n"+`{"data":{"cities":[],"total":0}}`)
	asks(t, 0, `(?s)^not seen  errors.codes\n.*differs  answers.headers  GET /v2/cities a: there is no X-Request-Id.*no recording shows  .*, tour.directory\n$`,
		"conform", "-recorded", dir)
	write("a.response", "HTTP/1.1 200 OK\n\n"+`{"data":{"cities":[]}}`)
	asks(t, 1, `(?s)^contradicts  GET /v2/cities a: data has no member total\n.*the interface is contradicted in 1 place\n$`,
		"conform", "-recorded", dir)
	asks(t, 1, "none.har", "conform", "-recorded", filepath.Join(dir, "none.har"))
}
