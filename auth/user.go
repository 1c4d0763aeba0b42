package auth

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/schedule/ids"
)

type (
	// User is a person who signs in for companies. It is immutable; a change makes a new one.
	User struct {
		ID       ids.ID   `json:"id"`
		Person   Person   `json:"person"`
		Accesses []Access `json:"accesses"`
		Links    []Link   `json:"links"`
	}
	// Person is what is personal of a user. The salt keeps its hash in the journal from being guessed back.
	Person struct {
		Salt      ids.ID   `json:"salt"`
		Email     string   `json:"email"`
		FirstName string   `json:"firstName"`
		LastName  string   `json:"lastName"`
		Password  Password `json:"password"`
	}
	// Password is what is kept of a password, as DerivePassword makes it: PBKDF2-HMAC-SHA512, written as
	// pbkdf2-sha512$<iterations>$<salt>$<hash>.
	Password string
	// Access is a company that a user may sign in for.
	Access struct {
		Company Company `json:"company"`
		Role    Role    `json:"role"`
	}
	// Company is a company as it was when an access to it was given.
	Company struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Slug string `json:"slug"`
		Tier string `json:"tier"`
	}
	// Link ties a user to an identity provider's subject, of which only a hash is kept. A user has one link
	// for each issuer. A link that was made by hand before the issuer was known has none: it becomes that of
	// the first trusted provider whose token has the subject.
	Link struct {
		Issuer  string `json:"issuer"`
		Subject Hash   `json:"subject"`
	}
	// Linked says that an event makes a link. The subject is often an address, and so the hash of it is
	// personal. It is zero where it was erased, which only that of a user who is gone can be.
	Linked struct {
		Issuer  string `json:"issuer"`
		Subject Hash   `json:"-"`
		Salt    ids.ID `json:"-"` // of the personal part
	}
	// Role is what a user is for a company.
	Role string
	// Permission is something that a role may do, besides signing in.
	Permission string
)

// The permissions. Everyone who is signed in has None.
const (
	None        Permission = ""
	Reports     Permission = "reports" // list and download them
	Orders      Permission = "orders"  // of reports
	Geolocation Permission = "geolocation"
	Passengers  Permission = "passengers" // of the company's runs, see decision manifest.rows
)

// roles are all roles and what they may do (decision users.roles).
var roles = map[Role][]Permission{
	"ADMIN":  {None, Reports, Orders, Geolocation, Passengers},
	"VIEWER": {None, Reports},
}

// May reports whether a role allows something.
func (r Role) May(p Permission) bool {
	return slices.Contains(roles[r], p)
}

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	if _, ok := roles[Role(name)]; !ok {
		var known []string
		for role := range roles {
			known = append(known, string(role))
		}
		slices.Sort(known)
		return "", fmt.Errorf("%q is not one of %s", name, strings.Join(known, ", "))
	}
	return Role(name), nil
}

// The events, with what is in them.
type (
	// UserAdded says that there is a new user, who is linked to a subject unless Link is nil.
	UserAdded struct {
		User   ids.ID  `json:"user"`
		Access Access  `json:"access"`
		Link   *Linked `json:"link,omitempty"`
		Person Person  `json:"-"`
	}
	// AccessGiven says that a user got a further access, or another role in one, and was linked to a subject
	// unless Link is nil.
	AccessGiven struct {
		User   ids.ID  `json:"user"`
		Access Access  `json:"access"`
		Link   *Linked `json:"link,omitempty"`
	}
	// UserRemoved says that a user is gone, and with it its sessions.
	UserRemoved struct {
		User ids.ID `json:"user"`
	}
	// Tokens are the hashes of a session's new access and refresh tokens, and until when these are good.
	Tokens struct {
		Access      Hash      `json:"access"`
		AccessUntil time.Time `json:"accessUntil"`
		Refresh     Hash      `json:"refresh"`
		Until       time.Time `json:"until"`
	}
	// SessionStarted says that a user signed in. Link is made by it, unless nil.
	SessionStarted struct {
		Session ids.ID  `json:"session"`
		User    ids.ID  `json:"user"`
		Company string  `json:"company"`
		Link    *Linked `json:"link,omitempty"`
		Tokens
	}
	// SessionRefreshed says that a session got new tokens; the former are no longer good.
	SessionRefreshed struct {
		Session ids.ID `json:"session"`
		Tokens
	}
	// SessionEnded says that a session was revoked, and why.
	SessionEnded struct {
		Session ids.ID `json:"session"`
		Reason  string `json:"reason"`
	}
)

// PersonalPart is what the journal keeps apart, so that it can be erased.
func (e *UserAdded) PersonalPart() any {
	if e.Link == nil {
		return &e.Person
	}
	return &struct {
		*Person
		Subject *Hash `json:"subject"`
	}{&e.Person, &e.Link.Subject}
}

// PersonalPart is that of the link, if there is one.
func (e *AccessGiven) PersonalPart() any { return e.Link.personalPart() }

// PersonalPart is that of the link, if there is one.
func (e *SessionStarted) PersonalPart() any { return e.Link.personalPart() }

// personalPart returns what is personal of a link; nil where there is none.
func (l *Linked) personalPart() any {
	if l == nil {
		return nil
	}
	return &struct {
		Salt    *ids.ID `json:"salt"`
		Subject *Hash   `json:"subject"`
	}{&l.Salt, &l.Subject}
}

// Accounts is all that is remembered of company users and their sessions. It has no method that changes it:
// see [AccountRecorder].
type Accounts struct {
	users    map[ids.ID]*User
	byEmail  map[string]ids.ID // users by their folded e-mail
	byLink   map[Link]ids.ID   // users by each of their links
	sessions map[ids.ID]*Session
	byUser   map[ids.ID][]ids.ID // sessions by user, in the order they were started
	byToken  map[Hash]ids.ID     // sessions by every token of theirs that means something
}

// AccountRecorder is Accounts with the methods that change them, as a [PartnerRecorder] is of Partners.
type AccountRecorder struct{ *readAccounts }

type readAccounts = Accounts // under a name that no other package can set the field by

// NewAccounts returns the state before the first user.
func NewAccounts() AccountRecorder {
	return AccountRecorder{&Accounts{
		users:    map[ids.ID]*User{},
		byEmail:  map[string]ids.ID{},
		byLink:   map[Link]ids.ID{},
		sessions: map[ids.ID]*Session{},
		byUser:   map[ids.ID][]ids.ID{},
		byToken:  map[Hash]ids.ID{},
	}}
}

// Accounts returns what is recorded, to read and to decide on.
func (a AccountRecorder) Accounts() *Accounts { return a.readAccounts }

// Users returns all users, by id.
func (a *Accounts) Users() []*User {
	return slices.SortedFunc(maps.Values(a.users), func(x, y *User) int {
		return bytes.Compare(x.ID[:], y.ID[:])
	})
}

// Sessions returns all sessions, by user, and each user's in the order they were started.
func (a *Accounts) Sessions() (list []*Session) {
	for _, u := range a.Users() {
		list = append(list, a.SessionsOf(u.ID)...)
	}
	return list
}

// SessionsOf returns a user's sessions, in the order in which they were started.
func (a *Accounts) SessionsOf(user ids.ID) (list []*Session) {
	for _, id := range a.byUser[user] {
		list = append(list, a.sessions[id])
	}
	return list
}

// Session finds a session; nil where there is none.
func (a *Accounts) Session(id ids.ID) *Session { return a.sessions[id] }

// User finds a user; nil is nobody.
func (a *Accounts) User(id ids.ID) *User {
	return a.users[id]
}

// FoldEmail makes e-mails that differ only in the case of A to Z the same.
func FoldEmail(email string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, email)
}

// ByEmail finds a user; nil is nobody.
func (a *Accounts) ByEmail(email string) *User {
	return a.users[a.byEmail[FoldEmail(email)]]
}

// Access finds the user's access to a company; false when there is none.
func (u *User) Access(company string) (Access, bool) {
	i := slices.IndexFunc(u.Accesses, func(x Access) bool {
		return x.Company.ID == company
	})
	if i < 0 {
		return Access{}, false
	}
	return u.Accesses[i], true
}

// CheckUser returns an error unless there is a user.
func (a *Accounts) CheckUser(id ids.ID) error {
	if a.users[id] == nil {
		return ids.Unknown("user", id)
	}
	return nil
}

// CheckAccess returns an error unless there is a user, with an access to a company.
func (a *Accounts) CheckAccess(id ids.ID, company string) error {
	if err := a.CheckUser(id); err != nil {
		return err
	}
	if _, ok := a.users[id].Access(company); !ok {
		return ids.Unknown(fmt.Sprintf("access of user %s to company", id), strconv.Quote(company))
	}
	return nil
}

// Identify finds the user whom an identity provider vouches for: the one linked to its subject, or else the
// one with its verified e-mail who has no other subject of the issuer; then link is to be made. The error is
// ErrCredentials.
func (a *Accounts) Identify(who *Identity) (u *User, link *Linked, err error) {
	l := &Linked{Issuer: who.Issuer, Subject: HashOf(who.Subject)}
	if u := a.users[a.byLink[Link{l.Issuer, l.Subject}]]; u != nil {
		return u, nil, nil
	}
	if u := a.users[a.byLink[Link{Subject: l.Subject}]]; u != nil {
		return u, l, nil
	}
	u = a.ByEmail(who.Email)
	switch {
	case u == nil:
		return nil, nil, Refused("no user is linked to the subject or has its e-mail")
	case !who.EmailVerified:
		return nil, nil, Refused("the e-mail is not verified")
	case slices.ContainsFunc(u.Links, func(x Link) bool {
		return x.Issuer == who.Issuer
	}):
		return nil, nil, Refused("the user is linked to another subject of the issuer")
	}
	return u, l, nil
}

// ErrLinked is returned for a subject that another user is linked to.
var ErrLinked = errors.New("another user is already linked to this subject")

// Add decides to give a person an access, and a link unless it is nil: an *AccessGiven to who has that e-mail
// already, or else a *UserAdded. The error is ErrLinked.
func (a *Accounts) Add(id ids.ID, p Person, x Access, link *Linked) (any, error) {
	u := a.ByEmail(p.Email)
	if link != nil {
		for _, l := range []Link{{link.Issuer, link.Subject}, {Subject: link.Subject}} {
			other, linked := a.byLink[l]
			if linked && (u == nil || u.ID != other) {
				return nil, ErrLinked
			}
		}
	}
	if u != nil {
		return &AccessGiven{u.ID, x, link}, nil
	}
	return &UserAdded{id, x, link, p}, nil
}

// Remove decides to remove a user.
func (a *Accounts) Remove(email string) (*UserRemoved, error) {
	if u := a.ByEmail(email); u != nil {
		return &UserRemoved{u.ID}, nil
	}
	return nil, errors.New("there is no user with that e-mail")
}

// ApplyUserAdded adds a user with one access.
func (a AccountRecorder) ApplyUserAdded(_ time.Time, e *UserAdded) error {
	a.RestoreUser(&User{
		ID:       e.User,
		Person:   e.Person,
		Accesses: []Access{e.Access},
	})
	a.link(e.User, e.Link)
	return nil
}

// ApplyAccessGiven adds an access of a user, or changes the role in one. The error says that there is no such
// user.
func (a AccountRecorder) ApplyAccessGiven(_ time.Time, e *AccessGiven) error {
	if err := a.CheckUser(e.User); err != nil {
		return err
	}
	n := *a.users[e.User]
	others := slices.DeleteFunc(slices.Clone(n.Accesses), func(x Access) bool {
		return x.Company.ID == e.Access.Company.ID
	})
	n.Accesses = append(others, e.Access)
	a.users[e.User] = &n
	a.link(e.User, e.Link)
	return nil
}

// link ties a user to a subject, unless link is nil or its subject erased. It takes the place of the user's
// link to another subject of the issuer, and of one to the same subject whose issuer was not known.
func (a AccountRecorder) link(user ids.ID, link *Linked) {
	if link == nil || link.Subject == (Hash{}) {
		return
	}
	n := *a.users[user]
	n.Links = nil
	for _, l := range a.users[user].Links {
		if l.Issuer == link.Issuer || l == (Link{Subject: link.Subject}) {
			delete(a.byLink, l)
		} else {
			n.Links = append(n.Links, l)
		}
	}
	n.Links = append(n.Links, Link{link.Issuer, link.Subject})
	a.RestoreUser(&n)
}

// ApplyUserRemoved forgets a user and ends the sessions. The error says that there is no such user.
func (a AccountRecorder) ApplyUserRemoved(_ time.Time, e *UserRemoved) error {
	if err := a.CheckUser(e.User); err != nil {
		return err
	}
	u := a.users[e.User]
	for _, id := range slices.Clone(a.byUser[e.User]) {
		a.end(a.sessions[id])
	}
	delete(a.users, e.User)
	email := FoldEmail(u.Person.Email)
	if a.byEmail[email] == u.ID {
		delete(a.byEmail, email)
	}
	for _, l := range u.Links {
		delete(a.byLink, l)
	}
	return nil
}

// RestoreUser puts back a user of a snapshot.
func (a AccountRecorder) RestoreUser(u *User) {
	a.users[u.ID] = u
	if u.Person.Email != "" { // it may be erased
		a.byEmail[FoldEmail(u.Person.Email)] = u.ID
	}
	for _, l := range u.Links {
		a.byLink[l] = u.ID
	}
}

// RestoreSession puts back a session of a snapshot.
func (a AccountRecorder) RestoreSession(s *Session) {
	a.keep(s, s.Refreshes...)
}

const (
	AccessLife  = 15 * time.Minute // for which an access token is good; refreshing gives another
	SessionLife = 30 * day         // for which a session lasts since it was last refreshed

	// MaxSessions is how many sessions a user has at a time; the oldest ends (decision sessions.limit).
	MaxSessions = 50
	// MaxRefreshes is how many former refresh tokens of a session are known again, and end it when they are
	// shown. Who shows an older one gets nothing, and the session goes on.
	MaxRefreshes = 100

	// The reasons of SessionEnded.
	Logout  = "logout"
	Reuse   = "an old refresh token was shown"
	TooMany = "the user has signed in elsewhere too often"
)

// ErrCredentials is returned for credentials that are not good. What it says besides is for the log.
var ErrCredentials = errors.New("auth: invalid credentials")

// Refused returns an ErrCredentials that says why.
func Refused(why string) error {
	return fmt.Errorf("%w: %s", ErrCredentials, why)
}

// Identity is who an identity provider vouches for.
type Identity struct {
	Issuer, Subject string
	Email           string // "" when the token has none
	EmailVerified   bool
}

// MaxSubject is how many characters a subject may have (OpenID Connect Core, 2).
const MaxSubject = 255
