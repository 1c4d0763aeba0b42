package schedule_test

import (
	"testing"

	"waybill/schedule"
)

// A trip has the id that its feed has for it, where that can be read.
func TestFeedID(t *testing.T) {
	for id, want := range map[string]string{
		"kl-0530":       "kl-0530",
		"~S3lpdjogMS8y": "Kyiv: 1/2",
		"~":             "~",
		"~!":            "~!",
		"~Gw":           "~Gw", // an escape
		"~_w":           "~_w", // no UTF-8
	} {
		if got := schedule.FeedID(id); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
}
