package ledger

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Program is what the line of each start says of the program (decision opened.program).
type Program struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Modified bool   `json:"modified"` // the source, from that revision; or nobody knows
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// stamped is what the linker wrote into the binary of a release.
var stamped struct{ version, revision string }

// Stamp says what the linker wrote into the binary: a release is built where there is no repository to ask.
// It is called before all else, or not at all. "" is nothing.
func Stamp(version, revision string) {
	stamped.version, stamped.revision = version, revision
}

// ThisProgram returns what the binary carries about itself. "" is what it does not say.
func ThisProgram() *Program {
	p := &Program{
		Modified: true,
		Go:       runtime.Version(),
		OS:       runtime.GOOS,
		Arch:     runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	p.Version = cmp.Or(stamped.version, info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.Revision = s.Value
		case "vcs.modified":
			p.Modified = s.Value != "false"
		}
	}
	if stamped.revision != "" {
		p.Revision, p.Modified = stamped.revision, false
	}
	return p
}
