package histories

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"waybill/server/lab/conform"
	"waybill/server/lab/rig"
)

// The small server passes the judge with this program beside it, whole and written up to each
// stage, and known.txt lists all that it does not show.
func TestMiniPassesTheJudge(t *testing.T) {
	demo := rig.File("testdata/demo")
	o := startOurs(t, demo)
	program := buildMini(t, sourceOfMini())
	known := knownOfMini(t)
	for stage := range 10 { // 0 is the whole
		if stage > 0 && !*rig.Long {
			break
		}
		flags := stillAtStart(demo)
		if stage > 0 {
			flags = append(flags, "-stage", strconv.Itoa(stage))
		}
		m := startMini(t, program, flags...)
		o.reset(t)
		var out strings.Builder
		sum, err := conform.Run(conform.Options{
			BaseURL:   m.url,
			Key:       m.keys[0],
			Key2:      m.keys[1],
			IDToken:   m.said["ID_TOKEN"],
			Email:     m.said["EMAIL"],
			Password:  m.said["PASSWORD"],
			FMSObject: m.said["FMS"],
			StopID:    "kyiv-central-1",
			Write:     true,
			Stage:     stage,
			LikeURL:   o.url,
			LikeKey:   o.keys[0],
			Strict:    true,
			Known:     known,
		}, &out)
		m.stop()
		if err != nil || sum.Err() != nil || sum.Passed == 0 {
			t.Errorf("stage %d: %v, %v\n%s", stage, err, sum.Err(), whatIsMissing(out.String()))
		}
	}
}

// knownOfMini are the rules that the small server is not asked to show.
func knownOfMini(t *testing.T) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(sourceOfMini(), "known.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	known, err := conform.ReadKnown(f)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// whatIsMissing returns the lines of rules that did not pass, what is said of them, and the counts.
func whatIsMissing(out string) string {
	var text strings.Builder
	passed := false
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, " ") {
			passed = strings.HasPrefix(line, "pass  ")
		}
		if !passed {
			fmt.Fprint(&text, line)
		}
	}
	return text.String()
}
