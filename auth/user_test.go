package auth

import (
	"crypto/rand"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waybill/schedule/ids"
)

// at returns an access to a company of that id, which is its slug too.
func at(company string, role Role) Access {
	return Access{Company{company, "The " + company, company, "PRO"}, role}
}

// accounts returns two users: anna, who signs in for a and b, and boris, for a.
func accounts(t testing.TB) AccountRecorder {
	t.Helper()
	a := NewAccounts()
	add := func(id ids.ID, p Person, x Access) {
		e, err := a.Add(id, p, x, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *UserAdded:
			a.ApplyUserAdded(noon, e)
		case *AccessGiven:
			a.ApplyAccessGiven(noon, e)
		}
	}
	add(ids.ID{1}, Person{Email: "Anna@example.com", FirstName: "Anna"}, at("a", "ADMIN"))
	add(ids.ID{9}, Person{Email: "anna@EXAMPLE.com", FirstName: "Somebody", Password: "x"}, at("b", "VIEWER"))
	add(ids.ID{2}, Person{Email: "boris@example.com", FirstName: "Борис"}, at("a", "VIEWER"))
	return a
}

// Decision users.roles, user add: a further call for the same e-mail adds an access and leaves name and
// password as they are.
func TestAFurtherAccessLeavesTheUserAsItIs(t *testing.T) {
	a := accounts(t)
	want := []*User{
		{ID: ids.ID{1}, Person: Person{Email: "Anna@example.com", FirstName: "Anna"}, Accesses: []Access{at("a", "ADMIN"), at("b", "VIEWER")}},
		{ID: ids.ID{2}, Person: Person{Email: "boris@example.com", FirstName: "Борис"}, Accesses: []Access{at("a", "VIEWER")}},
	}
	if diff := cmp.Diff(want, a.Users()); diff != "" {
		t.Error(diff)
	}
	before := a.ByEmail("anna@example.com")
	a.ApplyAccessGiven(noon, &AccessGiven{User: ids.ID{1}, Access: at("a", "VIEWER")})
	if x, _ := before.Access("a"); x.Role != "ADMIN" {
		t.Error("a user who was given away has changed")
	}
	u := a.ByEmail("anna@example.com")
	if len(u.Accesses) != 2 ||
		slices.IndexFunc(u.Accesses, func(x Access) bool {
			return x == at("a", "VIEWER")
		}) < 0 {
		t.Errorf("%+v: another role in a company is no further access", u.Accesses)
	}
	for _, email := range []string{"", "anna@example.com ", "аnna@example.com", "bori\u017f@example.com"} {
		// the third with a Cyrillic а, the last with a long s
		if u := a.ByEmail(email); u != nil {
			t.Errorf("%q is %v", email, u)
		}
	}
	// Only A to Z are the same in both cases: the Kelvin sign is no k.
	for one, other := range map[string]string{
		"ANNA@X.ZZ":        "anna@x.zz",
		"Їжак@x.example":   "Їжак@x.example",
		"\u212a@x.example": "\u212a@x.example",
		"İ@x.example":      "İ@x.example",
		"@[`{":             "@[`{",
	} {
		if got := FoldEmail(one); got != other {
			t.Errorf("%q is %q", one, got)
		}
	}
}

// Decision idtoken.checked: the user is the one linked to (iss, sub); an unlinked one is linked at first
// login by a verified e-mail, if that user has no other sub of the issuer; anything else is refused.
func TestIdentify(t *testing.T) {
	a := accounts(t)
	link := func(user ids.ID, issuer, subject string) {
		a.ApplySessionStarted(noon, &SessionStarted{
			Session: ids.ID{100, byte(len(a.sessions))},
			User:    user,
			Company: "a",
			Link:    &Linked{Issuer: issuer, Subject: HashOf(subject)},
			Tokens:  NewTokens(noon, rand.Text(), rand.Text()),
		})
	}
	link(ids.ID{1}, "i", "anna's")
	for name, c := range map[string]struct {
		who    Identity
		user   ids.ID // zero: refused
		linked bool
	}{
		"linked":                                   {Identity{"i", "anna's", "anna@example.com", true}, ids.ID{1}, false},
		"linked, e-mail not verified":              {Identity{"i", "anna's", "anna@example.com", false}, ids.ID{1}, false},
		"linked, without e-mail":                   {Identity{"i", "anna's", "", false}, ids.ID{1}, false},
		"linked, with another user's e-mail":       {Identity{"i", "anna's", "boris@example.com", true}, ids.ID{1}, false},
		"linked at first login":                    {Identity{"i", "boris's", "boris@example.com", true}, ids.ID{2}, true},
		"e-mail in another case":                   {Identity{"i", "boris's", "BORIS@Example.Com", true}, ids.ID{2}, true},
		"another issuer, same subject":             {Identity{"j", "anna's", "anna@example.com", true}, ids.ID{1}, true},
		"another issuer, another user's e-mail":    {Identity{"j", "anna's", "boris@example.com", true}, ids.ID{2}, true},
		"e-mail not verified":                      {Identity{"i", "boris's", "boris@example.com", false}, ids.ID{}, false},
		"second subject of the issuer":             {Identity{"i", "anna's second", "anna@example.com", true}, ids.ID{}, false},
		"subject in another case":                  {Identity{"i", "Anna's", "anna@example.com", true}, ids.ID{}, false},
		"unlinked without e-mail":                  {Identity{"i", "new", "", true}, ids.ID{}, false},
		"unlinked with nobody's e-mail":            {Identity{"i", "new", "nobody@example.com", true}, ids.ID{}, false},
		"e-mail with a space":                      {Identity{"i", "new", " boris@example.com", true}, ids.ID{}, false},
		"another issuer, without e-mail":           {Identity{"j", "anna's", "", true}, ids.ID{}, false},
		"another issuer, e-mail not verified":      {Identity{"j", "anna's", "anna@example.com", false}, ids.ID{}, false},
		"issuer and subject joined in another way": {Identity{"", "ianna's", "", true}, ids.ID{}, false},
	} {
		u, l, err := a.Identify(&c.who)
		if c.user == (ids.ID{}) {
			if !errors.Is(err, ErrCredentials) || u != nil || l != nil {
				t.Errorf("%s: %v, %v, %v", name, u, l, err)
			}
			continue
		}
		if err != nil || u.ID != c.user || (l != nil) != c.linked || l != nil &&
			*l != (Linked{Issuer: c.who.Issuer, Subject: HashOf(c.who.Subject)}) {
			t.Errorf("%s: %+v, %v, %v", name, u, l, err)
		}
	}
	// Once the link is made the e-mail decides nothing any more, and there is no second one.
	link(ids.ID{2}, "i", "boris's")
	u, l, err := a.Identify(&Identity{"i", "boris's", "anna@example.com", true})
	if err != nil || u.ID != (ids.ID{2}) || l != nil {
		t.Errorf("%v, %v, %v", u, l, err)
	}
	_, _, err = a.Identify(&Identity{"i", "boris's new", "boris@example.com", true})
	if !errors.Is(err, ErrCredentials) {
		t.Errorf("a second subject of the issuer: %v", err)
	}
	if u := a.Users()[1]; len(u.Links) != 1 || cmp.Diff(u.Accesses, []Access{at("a", "VIEWER")}) != "" {
		t.Errorf("%+v", u)
	}
	a.ApplyUserRemoved(noon, &UserRemoved{User: ids.ID{1}})
	u, _, err = a.Identify(&Identity{"i", "anna's", "anna@example.com", true})
	if !errors.Is(err, ErrCredentials) {
		t.Errorf("one who is gone is %v, %v", u, err)
	}
}

// linkTo is a link that an event makes to a subject of an issuer.
func linkTo(issuer, subject string) Linked {
	return Linked{Issuer: issuer, Subject: HashOf(subject)}
}

// Decision users.links, user add -idp-subject: who is linked by hand needs no e-mail in the ID token. A link
// without an issuer becomes that of the first issuer whose token has the subject.
func TestLinkedByHand(t *testing.T) {
	a := accounts(t)
	give := func(email string, link Linked) error {
		t.Helper()
		e, err := a.Add(ids.ID{7}, Person{Email: email}, at("a", "ADMIN"), &link)
		if err == nil {
			a.ApplyAccessGiven(noon, e.(*AccessGiven))
		}
		return err
	}
	signsIn := func(issuer, subject string, want ids.ID) {
		t.Helper()
		u, link, err := a.Identify(&Identity{Issuer: issuer, Subject: subject})
		if err != nil {
			if want != (ids.ID{}) {
				t.Errorf("%s of %s: %v", subject, issuer, err)
			}
			return
		}
		if u.ID != want {
			t.Errorf("%s of %s is %v, want %v", subject, issuer, u.ID, want)
		}
		tokens := NewTokens(noon, rand.Text(), rand.Text())
		a.ApplySessionStarted(noon, &SessionStarted{
			Session: ids.ID{100, byte(len(a.sessions))},
			User:    u.ID,
			Company: "a",
			Link:    link,
			Tokens:  tokens,
		})
	}
	if err := give("anna@example.com", linkTo("i", "anna-1")); err != nil {
		t.Fatal(err)
	}
	signsIn("i", "anna-1", ids.ID{1})
	signsIn("j", "anna-1", ids.ID{})
	if err := give("boris@example.com", linkTo("i", "anna-1")); !errors.Is(err, ErrLinked) {
		t.Errorf("a subject that another user is linked to: %v", err)
	}
	if err := give("boris@example.com", linkTo("", "boris-1")); err != nil {
		t.Fatal(err)
	}
	if err := give("anna@example.com", linkTo("i", "boris-1")); !errors.Is(err, ErrLinked) {
		t.Errorf("a subject that another user is linked to, of whatever issuer: %v", err)
	}
	signsIn("i", "boris-1", ids.ID{2})
	signsIn("i", "boris-1", ids.ID{2})
	signsIn("j", "boris-1", ids.ID{}) // it is i's by now
	if err := give("anna@example.com", linkTo("i", "anna-2")); err != nil {
		t.Fatal(err)
	}
	signsIn("i", "anna-1", ids.ID{})
	signsIn("i", "anna-2", ids.ID{1})
	for _, u := range a.Users() {
		if len(u.Links) != 1 {
			t.Errorf("%v has the links %v, want one for the issuer", u.ID, u.Links)
		}
	}
}

// Decision users.roles: ADMIN may do everything of its company; VIEWER may sign in, read reports, and nothing
// else.
func TestRoles(t *testing.T) {
	// None, Reports, Orders, Geolocation, Passengers, and one that there is not.
	for role, may := range map[Role][]bool{
		"ADMIN":  {true, true, true, true, true, false},
		"VIEWER": {true, true, false, false, false, false},
		"":       {false, false, false, false, false, false},
		"admin":  {false, false, false, false, false, false},
		"OWNER":  {false, false, false, false, false, false},
	} {
		var got []bool
		for _, p := range []Permission{None, Reports, Orders, Geolocation, Passengers, "tickets"} {
			got = append(got, role.May(p))
		}
		if !slices.Equal(got, may) {
			t.Errorf("%q may %v", role, got)
		}
		parsed, err := ParseRole(string(role))
		if known := may[0]; (err == nil) != known || known && parsed != role {
			t.Errorf("%q is read as %q, %v", role, parsed, err)
		}
	}
}

// Whoever is removed is gone, whatever the case of the e-mail.
func TestRemove(t *testing.T) {
	a := accounts(t)
	for _, email := range []string{"nobody@example.com", ""} {
		if e, err := a.Remove(email); err == nil {
			t.Errorf("%q: %+v", email, e)
		}
	}
	e, err := a.Remove("ANNA@example.com")
	if err != nil || *e != (UserRemoved{User: ids.ID{1}}) {
		t.Fatalf("%+v, %v", e, err)
	}
	a.ApplyUserRemoved(noon, e)
	if len(a.Users()) != 1 || a.ByEmail("anna@example.com") != nil {
		t.Errorf("%v", a.Users())
	}
}
