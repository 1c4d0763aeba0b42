package vary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waybill/server/ledger/wire"
)

// Answer returns the body of an answer as the variation has it. What is no JSON it returns as it is.
func (v *Variation) Answer(body []byte) []byte {
	whole := bytes.TrimSpace(body)
	if !json.Valid(whole) {
		return body
	}
	var w wire.Writer
	v.value(&w, "", "", whole)
	return append(w.B, '\n') // as all answers end
}

// value writes a value. place is the names of the members on the way to it, each with a dot before it, as in
// .data.booking.tickets: the elements of a list are where the list is.
func (v *Variation) value(w *wire.Writer, name, place string, raw json.RawMessage) {
	switch raw[0] {
	case '{':
		v.object(w, name, place, raw)
	case '[':
		v.list(w, name, place, raw)
	case '"':
		v.text(w, name, place, raw)
	default:
		w.Raw(name, raw)
	}
}

// closed are the objects that the interface gives all members of.
var closed = []string{
	".data.departures.company",
	".data.ticket.slices", // of GET /v2/tickets/{id}
}

// object writes an object: its members in another order, and an unknown one.
func (v *Variation) object(w *wire.Writer, name, place string, raw json.RawMessage) {
	members := membersOf(raw)
	if !slices.Contains(closed, place) {
		members = append(members, v.unknown(members))
	}
	v.chance("members", string(raw)).Shuffle(len(members), func(i, j int) {
		members[i], members[j] = members[j], members[i]
	})
	w.Object(name)
	for _, m := range members {
		v.value(w, m.name, place+"."+m.name, m.value)
	}
	w.EndObject()
}

// ordered are the lists whose order says something: the interface gives it, or nothing else shows it, as that
// of the stops of a trip.
var ordered = []string{
	"departures", // by departure
	"bookings",   // the newest first
	"reports",    // the newest first
	"events",     // by seq
	"stops",      // as the bus goes
	"segments",   // as the bus goes
}

// list writes a list, in another order unless that says something.
func (v *Variation) list(w *wire.Writer, name, place string, raw json.RawMessage) {
	var elements []json.RawMessage
	json.Unmarshal(raw, &elements) // it is valid
	if !slices.Contains(ordered, lastOf(place)) {
		v.chance("list", string(raw)).Shuffle(len(elements), func(i, j int) {
			elements[i], elements[j] = elements[j], elements[i]
		})
	}
	w.Array(name)
	for _, e := range elements {
		v.value(w, "", place, e)
	}
	w.EndArray()
}

// text writes a string: an id with its suffix, a message in other words.
func (v *Variation) text(w *wire.Writer, name, place string, raw json.RawMessage) {
	var text string
	json.Unmarshal(raw, &text) // it is valid
	switch {
	case isID(place) && len(text) == idLength:
		w.Joined(name, text, v.suffix(text))
	case isMessage(place) && !slices.Contains(given, text):
		w.String(name, v.words(text))
	default:
		w.Raw(name, raw)
	}
}

// given are the messages of the interface.
var given = []string{"AUTH_INVALID_CREDENTIALS", "AUTH_NO_ACCESS", "RESOURCE_NOT_FOUND", "Offer expired"}

// isMessage reports whether words for people stand at a place.
func isMessage(place string) bool {
	return place == ".errors.message" || place == ".data.tickets.reason" // of a preview
}

// phrases are what a message may be.
var phrases = []string{
	"this cannot be done",
	"Request rejected.",
	"something about this request is not right",
	"Sorry, that did not work",
	"the server would rather not",
	"ERR: see errorCode",
	"Запит відхилено",
	"not like this",
}

// words returns other words than those of a message. Two messages hardly ever get the same.
func (v *Variation) words(message string) string {
	chance := v.chance("words", message)
	return fmt.Sprintf("%s #%d", phrases[chance.IntN(len(phrases))], chance.IntN(100_000))
}

// names are the names of members that nobody knows: the interface has none of them.
var names = []string{
	"channel", "checksum", "flags", "labels", "links", "locale", "meta", "rank", "remarks", "revision",
	"weight", "x-trace",
}

// values are what such a member may be.
var values = []string{`"n/a"`, `""`, `0`, `17`, `-2.5`, `true`, `false`, `null`, `[]`, `["a","b"]`}

// unknown returns an unknown member for an object. It is the same wherever and whenever the object is shown:
// an object is known by its id, or without one by the names of its members.
func (v *Variation) unknown(members []member) member {
	object := ""
	for _, m := range members {
		if m.name == "id" {
			object = string(m.value)
			break
		}
		object += m.name + " "
	}
	chance := v.chance("unknown", object)
	return member{
		name:  names[chance.IntN(len(names))],
		value: json.RawMessage(values[chance.IntN(len(values))]),
	}
}

// member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of a valid object, in their order.
func membersOf(object json.RawMessage) (members []member) {
	in := json.NewDecoder(bytes.NewReader(object))
	in.Token() // the brace
	for in.More() {
		name, _ := in.Token()
		m := member{name: name.(string)}
		in.Decode(&m.value)
		members = append(members, m)
	}
	return members
}

// lastOf returns the name of the member that is at a place.
func lastOf(place string) string {
	return place[strings.LastIndexByte(place, '.')+1:]
}
