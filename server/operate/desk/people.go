package desk

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/auth"
	"waybill/booking/ids"
	"waybill/schedule/fold"
	"waybill/server/ledger"
)

// partnerShown is a partner with its keys, of which only hashes are known.
type partnerShown struct {
	Name, ID   string
	Companies  []string // empty is all
	Created    time.Time
	LastBooked time.Time // zero is never
	LastLegacy time.Time // zero is never
	Bookings   int
	Keys       []keyShown
	Valid      bool // one of the keys is
}

// keyShown is an API key.
type keyShown struct {
	Name    string // the first digits of its hash
	Created time.Time
	Revoked time.Time // zero is not
}

// getPartners answers GET /partners.
func (s *Desk) getPartners(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	var list []partnerShown
	// When a partner last booked is in the lists of its bookings: nothing is counted for this page, however
	// much it has sold.
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		for _, p := range st.Partners.All() {
			x := newPartnerShown(p)
			page, total := st.Bookings.List(ids.ID(p.ID), nil, 0, 1)
			x.Bookings = total
			if total > 0 {
				x.LastBooked = time.UnixMilli(page[0].Created)
			}
			list = append(list, x)
		}
	})
	if err != nil {
		return err
	}
	return s.show(w, r, by, "partners", &page{
		Title: "Partners",
		Here:  "/partners",
		Body:  list,
	})
}

// newPartnerShown returns a partner as the page has it, but for what it has booked.
func newPartnerShown(p *auth.Partner) partnerShown {
	const digits = 12 // of a key's hash, which name it
	x := partnerShown{
		Name:       p.Name,
		ID:         p.ID.String(),
		Companies:  p.Companies,
		Created:    p.Created,
		LastLegacy: p.LastLegacy(),
	}
	for _, k := range p.Keys {
		x.Keys = append(x.Keys, keyShown{
			Name:    k.Hash.String()[:digits],
			Created: k.Created,
			Revoked: k.Revoked,
		})
		x.Valid = x.Valid || k.Revoked.IsZero()
	}
	return x
}

// users are the company users, and what a new one can be given.
type users struct {
	List      []userShown
	Companies []companyShown
}

// companyShown is a company of the timetable in force.
type companyShown struct{ Slug, Name string }

// userShown is a company user.
type userShown struct {
	Email, Name string
	Accesses    []string
	Sessions    int
	LastUsed    time.Time // of a session that has not ended; zero is none
}

// getUsers answers GET /users.
func (s *Desk) getUsers(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	x := new(users)
	for _, c := range s.Timetable.Load().Companies {
		x.Companies = append(x.Companies, companyShown{c.Slug, c.Name})
	}
	slices.SortFunc(x.Companies, func(a, b companyShown) int {
		return strings.Compare(fold.Order(a.Name), fold.Order(b.Name))
	})
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		for _, u := range st.Accounts.Users() {
			shown := userShown{
				Email: u.Person.Email,
				Name:  strings.TrimSpace(u.Person.FirstName + " " + u.Person.LastName),
			}
			for _, a := range u.Accesses {
				shown.Accesses = append(shown.Accesses, string(a.Role)+" of "+a.Company.Slug)
			}
			for _, session := range st.Accounts.SessionsOf(u.ID) {
				shown.Sessions++
				if session.LastUsed().After(shown.LastUsed) {
					shown.LastUsed = session.LastUsed()
				}
			}
			x.List = append(x.List, shown)
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(x.List, func(a, b userShown) int {
		return strings.Compare(a.Email, b.Email)
	})
	return s.show(w, r, by, "users", &page{
		Title: "Company users",
		Here:  "/users",
		Body:  x,
		Read:  &ledger.PersonalRead{People: len(x.List)},
	})
}
