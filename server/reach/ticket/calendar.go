package ticket

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/booking"
)

// WriteCalendar writes an entry for each ride of a ticket (RFC 5545). The same ticket has the same entries,
// so that a calendar replaces them when the departure has moved.
func WriteCalendar(out io.Writer, t *booking.Ticket, now time.Time) error {
	var b strings.Builder
	writeLine(&b, "BEGIN:VCALENDAR")
	writeLine(&b, "VERSION:2.0")
	writeLine(&b, "PRODID:-//Waybill//Ticket//EN")
	for i, l := range t.Itinerary() {
		form := l.Run.Form
		from := &form.Stops[l.From]
		to := &form.Stops[l.To]
		writeLine(&b, "BEGIN:VEVENT")
		writeLine(&b, fmt.Sprintf("UID:%s.%d@waybill", t.ID, i+1))
		writeLine(&b, "DTSTAMP:"+stamp(now))
		// Only by this does a calendar see that an entry is newer (RFC 5545, 3.8.7.4).
		writeLine(&b, fmt.Sprintf("SEQUENCE:%d", now.Unix()))
		writeLine(&b, "DTSTART:"+stamp(l.Run.Dep(l.From)))
		writeLine(&b, "DTEND:"+stamp(l.Run.Arr(l.To)))
		writeLine(
			&b,
			"SUMMARY:"+escape(
				"Bus "+from.City.Name+" – "+to.City.Name+fmt.Sprintf(", seat %d", l.Seat),
			),
		)
		writeLine(&b, "LOCATION:"+escape(from.Title()))
		writeLine(
			&b,
			"DESCRIPTION:"+escape(
				fmt.Sprintf("%s, %s, trip %s\nto %s\nticket %s", form.Company.Name,
					form.Route.Name, form.Trip, to.Title(), t.ID),
			),
		)
		writeLine(&b, fmt.Sprintf("GEO:%f;%f", from.Stop.Lat, from.Stop.Lon))
		writeLine(&b, "END:VEVENT")
	}
	writeLine(&b, "END:VCALENDAR")
	_, err := io.WriteString(out, b.String())
	return err
}

// stamp returns an instant as calendars have it.
func stamp(at time.Time) string { return at.UTC().Format("20060102T150405Z") }

// escape returns a text as a value may hold it, without carriage returns.
var escaper = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`, "\r", "")

func escape(text string) string { return escaper.Replace(text) }

// maxLine is how many bytes a line may have; longer ones go on in the next, after a blank.
const maxLine = 75

// writeLine writes a line, folded where it is too long. No character is torn.
func writeLine(b *strings.Builder, line string) {
	for room := maxLine; len(line) > room; room = maxLine - 1 {
		n := room
		for !utf8.RuneStart(line[n]) {
			n--
		}
		b.WriteString(line[:n] + "\r\n ")
		line = line[n:]
	}
	b.WriteString(line + "\r\n")
}
