package tour

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// play plays a tour with what somebody types, and returns what is shown. What the tour has made is gone then.
func play(t *testing.T, typed string, pace float64, stop <-chan struct{}) string {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var out strings.Builder
	tour := Tour{
		Demo: os.DirFS("../../../testdata/demo"),
		Out:  &out,
		In:   strings.NewReader(typed),
		Stop: stop,
	}
	if err := tour.SetPace(pace); err != nil {
		t.Fatal(err)
	}
	if err := tour.Play(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("the tour has left %v, %v", left, err)
	}
	return out.String()
}

// A tour plays every step, waits for a line before each but the first, and shows what it says.
func TestATourPlaysEveryStep(t *testing.T) {
	steps := regexp.MustCompile(`(?m)^step (.*)`).FindAllStringSubmatch(text, -1)
	shown := play(t, strings.Repeat("\n", len(steps)), 0, nil)
	for i, s := range steps {
		if !strings.Contains(shown, fmt.Sprintf("Step %d of %d. %s", i+1, len(steps), s[1])) {
			t.Errorf("step %d, %s, is not shown", i+1, s[1])
		}
	}
	if n := strings.Count(shown, "— Enter"); n != len(steps)-1 {
		t.Errorf("it waited %d times, want %d", n, len(steps)-1)
	}
	for _, want := range []string{
		"currency is given twice", "passengers[0].first is not a known field",
		"* seats left  19 → 18", "* seats left  18 → 19",
		"* ticket      Processing, Unpaid → Uncompleted, Unpaid",
		"* given back  0.00 UAH → 693.00 UAH", "Idempotent-Replayed: true", "byte for byte", "sound: ",
		"* passenger   Lesia Ukrainka → nobody", "* ticket      Uncompleted, Unpaid → Confirmed, Paid",
		"computed again", "the root that was signed",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("nothing shows %q", want)
		}
	}
	if key := regexp.MustCompile(`wb_[\w-]{9,}`).FindString(shown); key != "" {
		t.Errorf("it shows a whole key, %s", key)
	}
}

// The same tour shows the same, to the byte, whoever waits for it.
func TestATourIsTheSameEachTime(t *testing.T) {
	once := play(t, "", 0.001, nil)
	if again := play(t, "", 0.001, nil); again != once {
		t.Errorf("the second tour is another:\n%s", again)
	}
}

// A tour ends with what is typed, or once it is to stop, and both are no failure.
func TestATourEndsEarly(t *testing.T) {
	shown := play(t, "\n", 0, nil)
	if !strings.Contains(shown, "2 of 13.") || strings.Contains(shown, "3 of 13.") ||
		!strings.Contains(shown, "The input has ended") {
		t.Errorf("after one line it shows\n%s", shown)
	}
	stop := make(chan struct{})
	close(stop)
	for _, pace := range []float64{0, 3600} {
		if shown := play(t, "", pace, stop); strings.Contains(shown, "2 of 13.") {
			t.Errorf("it does not stop with a pace of %f", pace)
		}
	}
}

// A pace is a number of seconds.
func TestAPaceIsANumberOfSeconds(t *testing.T) {
	var tour Tour
	for _, pace := range []float64{-1, 3601} {
		if tour.SetPace(pace) == nil {
			t.Errorf("%f is one", pace)
		}
	}
}

// Where nothing can be made, that is said with what to do.
func TestATourNeedsRoom(t *testing.T) {
	t.Setenv("TMPDIR", "/none")
	var out strings.Builder
	tour := Tour{Demo: os.DirFS("../../../testdata/demo"), Out: &out, In: strings.NewReader("")}
	if err := tour.Play(); err == nil || !strings.Contains(err.Error(), "TMPDIR") || out.Len() > 0 {
		t.Errorf("%v\n%s", err, &out)
	}
}
