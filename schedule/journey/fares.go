package journey

import (
	"waybill/schedule"
)

// BaseFares returns what one passenger pays for a ride before any discount, as schedule.Fares.Base does.
func (f Finder) BaseFares(l *schedule.Leg) []schedule.Money {
	at := f.origin(f.Boarding(l).City, f.Alighting(l).City)
	ride := hop{f.Trips[l.Trip].Pattern, l.From, l.To}
	for i := at.from; i < at.to; i++ {
		if f.hops[i] != ride {
			continue
		}
		list := f.hopFares[i].Load()
		if list == nil {
			fares := f.fares.Base(l)
			list = &fares
			f.hopFares[i].Store(list)
		}
		return *list
	}
	return f.fares.Base(l) // a ride that no search finds
}

// Price is BaseFares with the discount in force taken off.
func (f Finder) Price(l *schedule.Leg) []schedule.Money {
	return schedule.Discounted(f.Timetable, l, f.BaseFares(l))
}
