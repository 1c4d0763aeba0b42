package seating

import "waybill/schedule"

// A Ride is a part of a run, in the form of the run that it is sold in.
type Ride struct {
	Form     *schedule.Form
	From, To int16 // positions among the form's stops
}

// In returns the part of the run that the ride takes where the run has another form. The ride is mapped
// outward: from the last remaining stop at or before its boarding to the first remaining stop at or after its
// alighting, where before and after are as in the ride's own form. Where none remains before, that is the
// form's first stop, and where none remains after, its last. So a ride takes at least as much of the run as
// was sold: mapped inward it would shrink, and somebody else would be sold a part of it. Only where all of it
// lies before the form's first stop or after its last, it ends where it begins, and takes nothing.
func (r Ride) In(form *schedule.Form) (from, to int16) {
	return newMapping(r.Form, form).ride(r.From, r.To)
}

// Meets reports whether two rides overlap where the run has a form.
func (r Ride) Meets(other Ride, form *schedule.Form) bool {
	from, to := r.In(form)
	otherFrom, otherTo := other.In(form)
	return from < otherTo && otherFrom < to
}

// MeetsAsSold reports whether two rides overlap where the run has the form that one of them was sold in. Then
// they cannot have the same seat, whatever form the run has now.
func (r Ride) MeetsAsSold(other Ride) bool {
	return r.Meets(other, r.Form) || !same(r.Form, other.Form) && r.Meets(other, other.Form)
}

// same reports whether two forms have the same content.
func same(a, b *schedule.Form) bool {
	return a == b || a.Key() == b.Key()
}

// A mapping says where rides of one form of a run are in another.
type mapping struct {
	equal bool    // the forms are the same
	at    []int16 // by position in the one: that in the other; -1 where the call is not there
	last  int16   // position in the other
}

// newMapping returns the mapping from one form to another. The n-th call at a stop is the n-th call at it in
// the other.
func newMapping(sold, form *schedule.Form) mapping {
	if same(sold, form) {
		return mapping{equal: true}
	}
	type call struct {
		stop string
		nth  int
	}
	positions := make(map[call]int16, len(form.Stops))
	times := make(map[string]int, len(form.Stops))
	for i := range form.Stops {
		stop := form.Stops[i].Stop.ID
		positions[call{stop, times[stop]}] = int16(i)
		times[stop]++
	}
	clear(times)
	m := mapping{
		at:   make([]int16, len(sold.Stops)),
		last: int16(len(form.Stops) - 1),
	}
	for i := range sold.Stops {
		stop := sold.Stops[i].Stop.ID
		position, remains := positions[call{stop, times[stop]}]
		if !remains {
			position = -1
		}
		m.at[i] = position
		times[stop]++
	}
	return m
}

// ride returns where a ride between two positions of the one form is in the other.
func (m mapping) ride(soldFrom, soldTo int16) (from, to int16) {
	if m.equal {
		return soldFrom, soldTo
	}
	from = 0
	for i := soldFrom; i >= 0; i-- {
		if m.at[i] >= 0 {
			from = m.at[i]
			break
		}
	}
	to = m.last
	for i := int(soldTo); i < len(m.at); i++ {
		if m.at[i] >= 0 {
			to = m.at[i]
			break
		}
	}
	if from > to { // the other form has the stops in another order
		from, to = to, from
	}
	return from, to
}
