package command

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"waybill/server/ledger"
	"waybill/store/journal"
)

// buildInfo says which build of the program this is.
type buildInfo struct {
	Version      string   `json:"version"`
	Revision     string   `json:"revision"`
	Modified     *bool    `json:"modified"` // nil: unknown
	Go           string   `json:"go"`
	System       string   `json:"system"`
	SHA256       string   `json:"sha256"`             // of the executable
	Build        string   `json:"build"`              // lean, or whole
	Writes       int      `json:"journalFormat"`      // the format of the journals that it writes
	Reads        []int    `json:"journalFormatsRead"` // those that it reads
	Dependencies []string `json:"dependencies"`
}

// thisBuild returns what the go command has written into the binary: nobody keeps a number by hand.
func thisBuild() (b buildInfo, err error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b, errors.New("the binary holds no build information")
	}
	p := ledger.ThisProgram()
	b = buildInfo{
		Version:      p.Version,
		Revision:     "unknown",
		Go:           info.GoVersion,
		System:       runtime.GOOS + "/" + runtime.GOARCH,
		Build:        "whole",
		Writes:       journal.FormatVersion,
		Reads:        []int{journal.FormatVersion},
		Dependencies: []string{},
	}
	if isLean {
		b.Build = "lean"
	}
	if p.Revision != "" {
		b.Revision = p.Revision
		b.Modified = &p.Modified
	}
	for _, d := range info.Deps {
		b.Dependencies = append(b.Dependencies, d.Path+"@"+d.Version)
	}
	return b, nil
}

// hashOfExecutable returns the SHA-256 of the file that runs; "unknown" where the system does not show it, as
// in a root without /proc. On Linux that file is found also where another has its name by now.
func hashOfExecutable() string {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		name, _ := os.Executable() // "" is no file
		f, err = os.Open(name)
	}
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// version says which build this is.
func (c *call) version() (int, error) {
	b, err := thisBuild()
	if err != nil {
		return exitFailed, err
	}
	b.SHA256 = hashOfExecutable()
	if c.get("json").(bool) {
		text, err := json.MarshalIndent(b, "", "  ")
		fmt.Fprintf(c.Stdout, "%s\n", text)
		return exitFailed, err
	}
	modified := "unknown"
	if b.Modified != nil {
		modified = strconv.FormatBool(*b.Modified)
	}
	fmt.Fprintf(c.Stdout, "waybill %s\n%s\nrevision %s\nmodified %s\nsystem %s\nsha256 %s\n", b.Version, b.Go,
		b.Revision, modified, b.System, b.SHA256)
	fmt.Fprintf(c.Stdout, "build %s\njournal format %d\nreads journal formats %s\ndependencies %s\n", b.Build,
		b.Writes, strings.Trim(fmt.Sprint(b.Reads), "[]"), cmp.Or(strings.Join(b.Dependencies, " "), "none"))
	return exitDone, nil
}
