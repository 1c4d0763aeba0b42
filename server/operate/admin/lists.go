package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/auth"
	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/ledger"
)

// What the verbs that list something print: a line for each, or with -json one array.

// asJSON returns a list as an indented array.
func asJSON(list any) string {
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		panic("admin: " + err.Error()) // strings, numbers and instants
	}
	return string(text)
}

// partnerRow is a partner as partner list shows it.
type partnerRow struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Created        time.Time  `json:"created"`
	Companies      []string   `json:"companies"` // slugs; empty is all
	LastLegacyCall *time.Time `json:"lastLegacyCall"`
	LegacyUntil    time.Time  `json:"legacyUntil"`
	Keys           []keyRow   `json:"keys"`
}

// keyRow is an API key, of which only the hash is known.
type keyRow struct {
	Name    string     `json:"name"` // the first digits of its hash
	Created time.Time  `json:"created"`
	Revoked *time.Time `json:"revoked"`
}

// optional returns an instant, nil where there is none.
func optional(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// adminPartnerList lists the partners with their keys, and until when the legacy interface is there for each.
func (s *Executor) adminPartnerList(a *Act) (string, error) {
	const shown = 12 // digits of a key's hash, which name it
	since, err := web.ParseLegacySince(a.Form.Get("legacy-since"))
	if err != nil {
		return "", err
	}
	// As of another start of the window, to see who would lose the interface.
	since = cmp.Or(since, s.Deprecated)
	var partners []*auth.Partner
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		partners = st.Partners.All()
	})
	if err != nil {
		return "", err
	}
	// Lists are empty where there is nothing, never null: programs read them.
	list := []partnerRow{}
	for _, p := range partners {
		row := partnerRow{
			ID:             p.ID.String(),
			Name:           p.Name,
			Created:        p.Created,
			Companies:      append([]string{}, p.Companies...),
			LastLegacyCall: optional(p.LastLegacy()),
			LegacyUntil:    p.LegacyUntil(since).UTC(),
			Keys:           []keyRow{},
		}
		for _, k := range p.Keys {
			row.Keys = append(row.Keys, keyRow{k.Hash.String()[:shown], k.Created, optional(k.Revoked)})
		}
		list = append(list, row)
	}
	if a.JSON() {
		return asJSON(list), nil
	}
	var out strings.Builder
	for _, p := range list {
		companies := "all companies"
		if len(p.Companies) > 0 {
			companies = "only " + strings.Join(p.Companies, ",")
		}
		fmt.Fprintf(&out, "%s  %s  since %s  %s\n", p.ID, p.Name, p.Created.Format(time.DateOnly), companies)
		last := when("last legacy call", p.LastLegacyCall, "no legacy call")
		fmt.Fprintf(&out, "  %s  gone for it from %s\n", last, p.LegacyUntil.Format(time.RFC3339))
		for _, k := range p.Keys {
			state := when("revoked", k.Revoked, "valid")
			fmt.Fprintf(&out, "  key %s  made %s  %s\n", k.Name, k.Created.Format(time.RFC3339), state)
		}
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// when says what happened at an instant, or that it never did.
func when(what string, at *time.Time, never string) string {
	if at == nil {
		return never
	}
	return what + " " + at.Format(time.RFC3339)
}

// adminCompanyList lists the companies of the timetable in force, by slug.
func (s *Executor) adminCompanyList(a *Act) (string, error) {
	type row struct {
		Slug   string `json:"slug"`
		ID     string `json:"id"`
		Name   string `json:"name"`
		Source string `json:"source"`
	}
	list := []row{}
	for _, c := range s.Timetable.Load().Companies {
		list = append(list, row{c.Slug, c.ID, c.Name, c.Source})
	}
	// By what other verbs take, which is what is looked for here.
	slices.SortFunc(list, func(a, b row) int {
		return strings.Compare(a.Slug, b.Slug)
	})
	if a.JSON() {
		return asJSON(list), nil
	}
	var out strings.Builder
	for _, c := range list {
		fmt.Fprintf(&out, "%s  %s  source %s\n", c.Slug, c.Name, c.Source)
	}
	return out.String() + words.Counted(len(list), "company"), nil
}

// adminUserList lists the company users, by e-mail.
func (s *Executor) adminUserList(a *Act) (string, error) {
	type access struct {
		Company string `json:"company"` // its slug
		Role    string `json:"role"`
	}
	type row struct {
		Email     string   `json:"email"`
		FirstName string   `json:"firstName"`
		LastName  string   `json:"lastName"`
		Accesses  []access `json:"accesses"`
		Issuers   []string `json:"issuers"` // that the user is linked to a subject of
	}
	var users []*auth.User
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		users = st.Accounts.Users()
	})
	if err != nil {
		return "", err
	}
	list := []row{}
	for _, u := range users {
		x := row{
			Email:     u.Person.Email,
			FirstName: u.Person.FirstName,
			LastName:  u.Person.LastName,
			Issuers:   []string{},
		}
		for _, at := range s.Accesses(u) {
			x.Accesses = append(x.Accesses, access{at.Company.Slug, string(at.Role)})
		}
		for _, l := range u.Links {
			x.Issuers = append(x.Issuers, l.Issuer)
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b row) int {
		return strings.Compare(a.Email, b.Email)
	})
	if a.JSON() {
		return asJSON(list), nil
	}
	var out strings.Builder
	for _, u := range list {
		fmt.Fprintf(&out, "%s  %s %s ", u.Email, u.FirstName, u.LastName)
		for _, at := range u.Accesses {
			fmt.Fprintf(&out, " %s of %s", at.Role, at.Company)
		}
		out.WriteString("\n")
	}
	return out.String() + words.Counted(len(list), "user"), nil
}
