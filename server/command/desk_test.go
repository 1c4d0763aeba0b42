package command

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Decision desk.entry: the desk prints a link, listens on loopback only, and is the running server's.
func TestTheDeskIsOfThisMachineAndOfARunningServer(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	for _, addr := range []string{"0.0.0.0:0", ":0", "example.com:80", "127.0.0.1", "[::]:0", ""} {
		want(t, 2, "must be a loopback address", "desk", "-data", dir, "-addr", addr)
	}
	want(t, 1, "there is no data directory", "desk", "-data", dir, "-addr", "127.0.0.1:0")
	p := startProcess(t, bin, dir)
	link := want(
		t,
		0,
		`(?m)^http://127\.0\.0\.1:\d+/\?token=\w{26}$`,
		"desk",
		"-data",
		dir,
		"-addr",
		"127.0.0.1:0",
	)
	// The process has ended, and so has the door.
	if resp, err := http.Get(strings.TrimSpace(link)); err == nil {
		t.Errorf("%d from a door that is closed", resp.StatusCode)
	}
	taken := strings.TrimPrefix(p.base, "http://")
	want(t, 1, "in use; -addr 127.0.0.1:0 takes a port that is free", "desk", "-data", dir, "-addr", taken)
	p.cmd.Process.Kill()
	p.cmd.Wait()
	want(t, 1, "no server has .* open", "desk", "-data", dir, "-addr", "127.0.0.1:0")
}

// Decision runs.named: what a carrier changed and was told so is there after a kill, and is sound.
func TestKilledServersKeepChangedRuns(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	p := startProcess(t, bin, dir)
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	day := time.Now().AddDate(0, 0, 3).Format(time.DateOnly)
	_, found := p.call("GET", "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate="+day, "")
	first := regexp.MustCompile(`"offers":\[{"id":"([^"]+)".*?"carriage":{"id":"([^"]+)"`).
		FindStringSubmatch(found)
	if first == nil {
		t.Fatal(found)
	}
	status, booked := p.call("POST", "/v2/bookings", fmt.Sprintf(
		`{"offerId":%q,"currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"Ukrainka"}]}`,
		first[1],
	))
	if status != http.StatusCreated {
		t.Fatal(status, booked)
	}
	id := regexp.MustCompile(`"booking":{"id":"([^"]+)"`).FindStringSubmatch(booked)[1]
	if status, body := p.call("POST", "/v2/bookings/"+id+"/pay", ""); status != http.StatusOK {
		t.Fatal(status, body)
	}
	restart := func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		key := p.key
		p = startProcess(t, bin, dir)
		p.key = key
	}
	want(
		t,
		0,
		"that stay valid: 1",
		"run",
		"move",
		"-data",
		dir,
		"-minutes",
		"30",
		"-reason",
		"snow",
		first[2],
		day,
	)
	restart()
	want(
		t,
		0,
		"nothing to change",
		"run",
		"move",
		"-data",
		dir,
		"-minutes",
		"30",
		"-reason",
		"snow",
		first[2],
		day,
	)
	want(t, 0, "1 refunded", "run", "cancel", "-data", dir, "-reason", "snow", first[2], day)
	restart()
	if _, body := p.call("GET", "/v2/bookings/"+id, ""); !strings.Contains(body, `"status":"Refund"`) {
		t.Errorf("after the kills: %s", body)
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	want(t, 0, "^sound", "verify", "-data", dir)
}
