package web

import (
	"cmp"
	"slices"

	"waybill/auth"
	"waybill/schedule"
)

// CurrentAccess returns an access with its company as the timetable in force has it, if it has.
func (c *Core) CurrentAccess(a auth.Access) auth.Access {
	tt := c.Timetable.Load()
	i := slices.IndexFunc(tt.Companies, func(c schedule.Company) bool {
		return c.ID == a.Company.ID
	})
	if i >= 0 {
		a.Company = CompanyOf(&tt.Companies[i])
	}
	return a
}

// Accesses returns a user's accesses by company name.
func (c *Core) Accesses(u *auth.User) (list []auth.Access) {
	for _, a := range u.Accesses {
		list = append(list, c.CurrentAccess(a))
	}
	slices.SortFunc(list, func(a, b auth.Access) int {
		return cmp.Or(cmp.Compare(schedule.NameOrder(a.Company.Name), schedule.NameOrder(b.Company.Name)),
			cmp.Compare(a.Company.ID, b.Company.ID))
	})
	return list
}

// CompanyOf returns a company of a timetable as accesses have it.
func CompanyOf(c *schedule.Company) auth.Company {
	return auth.Company{
		ID:   c.ID,
		Name: c.Name,
		Slug: c.Slug,
		Tier: c.Tier,
	}
}
