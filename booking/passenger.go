package booking

import "strings"

// Passenger is a traveller: a name, an e-mail address and phones, packed into one string. Passengers are
// the largest part of the memory of a server with many tickets.
type Passenger string

const passengerSeparator = '\x7f' // no field may hold a control character; and JSON has this one as it is

// NewPassenger packs a passenger.
func NewPassenger[T ~string | ~[]byte](first, last, email T, phones []T) Passenger {
	var room [256]byte
	b := room[:0]
	b = append(b, first...)
	b = append(b, passengerSeparator)
	b = append(b, last...)
	b = append(b, passengerSeparator)
	b = append(b, email...)
	for _, phone := range phones {
		b = append(b, passengerSeparator)
		b = append(b, phone...)
	}
	return Passenger(b)
}

// Fields returns first name, last name, e-mail, and phones.
func (p Passenger) Fields() (first, last, email string, phones []string) {
	list := strings.Split(string(p), string(passengerSeparator))
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
var Nobody = NewPassenger("", "", "", nil)

// Forgotten reports whether the passenger is forgotten.
func (p Passenger) Forgotten() bool {
	return p == Nobody || p == ""
}
