package server_test

import (
	"regexp"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// The page has a row for each size that a client chooses, with the number that the code has.
func TestThePageOfLimits(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	page := rig.Ask(s, "", "GET", "/docs/limits", "").Body.String()
	rows := map[string]string{}
	shown := regexp.MustCompile(`(?s)<dt>(.*?)</dt><dd>(.*?)</dd>`).FindAllStringSubmatch(page, -1)
	for _, row := range shown {
		rows[row[1]] = row[2]
	}
	for what, wants := range map[string][]string{
		"body of a request":                {"256 KiB", "413"},
		"problems in a 400":                {"100, and 64 KiB", "how many more there are"},
		"passengers of a booking":          {"100", "400"},
		"phones of a passenger":            {"10", "400"},
		"requests that wait for events":    {"64 of a partner", "at once"},
		"connections":                      {"at most 10000", "a quarter", "idle longest"},
		"sessions of a user":               {"50", "the oldest ends"},
		"reports that are not written yet": {"20 of a company", "429"},
		"reports that are kept": {"200 of a company, and 500 MB of " +
			"files", "429", "oldest has expired"},
		"answers that clients do not read": {"16 MiB", "128 MiB", "read nothing for the longest time"},
		"requests a second":                {"each whole 50000 bytes", "429"},
	} {
		for _, want := range wants {
			if !strings.Contains(rows[what], want) {
				t.Errorf("the row of %s has no %q: %s", what, want, rows[what])
			}
		}
	}
}
