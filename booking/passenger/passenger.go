// Package passenger holds who travels: a name, an e-mail address and phones in one text.
package passenger

import "strings"

// Passenger is who travels, packed into one string: the largest part of what a server with many tickets
// remembers.
type Passenger string

const separator = '\x7f' // no field may hold a control character; and JSON has this one as it is

// New packs a passenger.
func New[T ~string | ~[]byte](first, last, email T, phones []T) Passenger {
	var room [256]byte
	b := room[:0]
	b = append(b, first...)
	b = append(b, separator)
	b = append(b, last...)
	b = append(b, separator)
	b = append(b, email...)
	for _, phone := range phones {
		b = append(b, separator)
		b = append(b, phone...)
	}
	return Passenger(b)
}

// Fields returns first name, last name, e-mail, and phones.
func (p Passenger) Fields() (first, last, email string, phones []string) {
	list := strings.Split(string(p), string(separator))
	for len(list) < 3 {
		list = append(list, "")
	}
	first = list[0]
	last = list[1]
	email = list[2]
	phones = list[3:]
	return first, last, email, phones
}

// Nobody is a passenger who is forgotten.
var Nobody = New("", "", "", nil)

// Forgotten reports whether the passenger is forgotten.
func (p Passenger) Forgotten() bool {
	return p == Nobody || p == ""
}
