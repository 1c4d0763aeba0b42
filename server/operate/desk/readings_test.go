package desk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/server/lab/rig"
	"waybill/store/durable"
)

// readings opens a page, and returns the lines that say that names were read on it. No line that it leaves
// has a name.
func (o *operator) readings(path string) (list []string) {
	o.Helper()
	before := len(o.journal())
	if status, body := o.get(path); status != 200 {
		o.Fatalf("%s: %d %s", path, status, body)
	}
	for line := range strings.Lines(o.journal()[before:]) {
		if strings.Contains(line, `"type":"personal.read"`) {
			list = append(list, line)
		}
		if strings.Contains(line, "Ukrainka") || strings.Contains(line, "@example.com") {
			o.Errorf("%s: a name is in %s", path, line)
		}
	}
	return list
}

// Decision desk.readings: who was shown names is recorded, without the names; a page without any records
// nothing.
func TestWhoReadsNamesIsRecorded(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka", "Franko").Data.Booking
	booking := `"booking":"` + b.ID + `"`
	for path, want := range map[string]string{
		"/booking?id=" + b.ID:           `"data":{"page":"/booking",` + booking + `,"people":2,"by":{"uid":`,
		"/ticket?id=" + b.Tickets[0].ID: `"data":{"page":"/ticket",` + booking + `,"people":1,"by":{"uid":`,
		"/search?q=Ukrainka":            `"data":{"page":"/search","people":1,"by":{"uid":`,
		"/search?q=Nobody":              "",
		"/":                             "",
		"/runs":                         "",
		"/journal":                      "",
		"/messages":                     "",
		run:                             `"data":{"page":"/run","run":{"trip":"kl-0530","date":"2026-11-25"},"people":2,"by":{"uid":`,
		"/waybill?date=" + date + "&trip=" + trip: "",
		"/search?q=" + b.Tickets[0].ID[:8]:        "",
	} {
		list := o.readings(path)
		if want == "" && list != nil || want != "" && (len(list) != 1 || !strings.Contains(list[0], want)) {
			t.Errorf("%s: %q, want %s", path, list, want)
		}
	}
}

// Decision desk.readings: pages of messages show addresses. Two messages to one passenger are one person; a
// letter is of its booking.
func TestWhoReadsMessagesIsRecorded(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/book", "", nil)
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	var letters []string
	rig.Eventually(t, "both letters are files", func() bool {
		letters, _ = filepath.Glob(filepath.Join(o.dir, "outbox", "*.eml"))
		return len(letters) == 2
	})
	letter := "/letter?name=" + filepath.Base(letters[0])
	for path, want := range map[string]string{
		"/messages": `"data":{"page":"/messages","people":1,"by":{`,
		letter:      `"data":{"page":"/letter","booking":"` + b.ID + `","people":1,"by":{`,
	} {
		if list := o.readings(path); len(list) != 1 || !strings.Contains(list[0], want) {
			t.Errorf("%s: %q, want %s", path, list, want)
		}
	}
}

// Decision desk.readings: where it cannot be written who reads, nobody is shown a name; a page without any is
// shown.
func TestNoNamesAreShownThatNoLineSays(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	disk := &rig.Crowded{FS: durable.Dir(dir)}
	o := newOperatorOn(t, dir, disk)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	disk.Fill(t, o.front.Server, o.key)
	booking := "/booking?id=" + b.ID
	for tries := 0; ; tries++ { // a line of a reading is shorter than that of a sale
		status, _ := o.get(booking)
		if status == 503 {
			break
		}
		if tries == 1000 {
			t.Fatal("there is always room for a reading")
		}
	}
	for _, path := range []string{booking, "/ticket?id=" + b.Tickets[0].ID, "/search?q=Ukrainka",
		"/waybill?date=" + date + "&trip=" + trip} {
		if status, body := o.get(path); status != 503 || strings.Contains(body, "Ukrainka") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	o.see("/runs?date=" + date)
	disk.Full.Store(false)
	rig.Eventually(t, "there is room", func() bool {
		status, body := o.get(booking)
		return status == 200 && strings.Contains(body, "Ukrainka")
	})
}
