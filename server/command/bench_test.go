//go:build !lean

package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// bench fills a directory, measures each work with each number of connections, and goes on with what it has
// made, but with no other's.
func TestBench(t *testing.T) {
	temp := t.TempDir()
	dir := filepath.Join(t.TempDir(), "data")
	sold := 0
	t.Setenv("TMPDIR", temp)
	for _, conns := range []string{"1,4", "4"} {
		works, tailRows := "", 0
		for c := range strings.SplitSeq(conns, ",") {
			works += fmt.Sprintf("W1 %s, W2 %[1]s, W3 %[1]s, ", c)
			tailRows += 3
		}
		var stdout, stderr bytes.Buffer
		code := Main(&Process{
			Args:   []string{"bench", "-data", dir, "-bookings", "300", "-conns", conns, "-seconds", "0.05"},
			Stdout: &stdout, Stderr: &stderr, Env: func(string) (string, bool) { return "", false },
		})
		if code != 0 || strings.Contains(stderr.String(), "300 of 300 bookings, ") != (sold == 0) {
			t.Fatalf("exit %d\n%s%s", code, &stdout, &stderr)
		}
		rows := regexp.MustCompile(`(?m)^\| (W[1-3]) .* \| ([14]) \| [1-9]\d* \| \d+\.\d\d \| \d+\.\d\d \|$`).FindAllStringSubmatch(stdout.String(), -1)
		var got strings.Builder
		for _, row := range rows {
			got.WriteString(row[1] + " " + row[2] + ", ")
		}
		if got.String() != works {
			t.Errorf("the table has %s\n%s", got.String(), &stdout)
		}
		tails := regexp.MustCompile(`(?m)^\| (alone|while a snapshot is written|the limit: .*) \| ([14]) \| [1-9]\d*( \| \d+\.\d\d){3} \| \d+\.\d \|$`).
			FindAllStringSubmatch(stdout.String(), -1)
		if len(tails) != tailRows || tails[0][1] != "alone" || tails[tailRows-1][2] != "4" {
			t.Errorf("of tails the table has %q\n%s", tails, &stdout)
		}
		if left, err := os.Stat(filepath.Join(dir, "limit.tmp")); err == nil {
			t.Error("the limit has left", left.Name())
		}
		said := regexp.MustCompile(`\nbookings: (\d+)\njournal: \d{3,4} bytes a booking\nmemory: [1-9]\d* MB\nstart: \d+ ms\n$`).FindStringSubmatch(stdout.String())
		if said == nil {
			t.Fatal(stdout.String())
		}
		rep, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{})
		n, _ := strconv.Atoi(said[1])
		if err != nil || rep.Torn != nil || n < 300 || n <= sold ||
			!strings.Contains(rep.Books.String(), said[1]+" bookings") {
			t.Errorf("%v: %d bookings after %d; %s", err, n, sold, rep.Books)
		}
		sold = n
	}
	want(t, 2, "-conns is a list", "bench", "-data", dir, "-conns", "0", "-keep", "exit 1")
	want(t, 74, "the keeper has ended before it said which lines it has",
		"bench", "-data", dir, "-keep", "exit 1")
	want(t, 1, "stopped before it was done", "bench", "-data", dir, "-bookings", "9999999")
	want(t, 2, "-conns is a list", "bench", "-data", dir, "-conns", "1,x")
	want(t, 2, "-pace is a number of seconds", "tour", "-pace", "-1")
	want(t, 2, "-seconds more than 0", "bench", "-data", dir, "-seconds", "0")
	if left, err := filepath.Glob(filepath.Join(temp, "*bench*")); err != nil || len(left) > 0 {
		t.Error("a feed is left behind", left, err)
	}

	demo := filepath.Join(t.TempDir(), "data")
	want(t, 0, "is in force", "import", "-data", demo, "../../testdata/demo")
	before := content(t, demo, firstFile)
	want(t, 1, demo+" is neither new nor made by bench", "bench", "-data", demo)
	text := content(t, demo, firstFile)
	if text != before {
		t.Errorf("what is refused is changed:\n%s", text)
	}
}
