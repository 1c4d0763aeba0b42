package auth

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// User is a person who signs in for companies. It is immutable; a change makes a new one.
type User struct {
	ID       ID       `json:"id"`
	Person   Person   `json:"person"`
	Accesses []Access `json:"accesses"`
	Links    []Link   `json:"links"`
}

// Person is what is personal of a user. The salt keeps its hash in the journal from being guessed back.
type Person struct {
	Salt      ID       `json:"salt"`
	Email     string   `json:"email"`
	FirstName string   `json:"firstName"`
	LastName  string   `json:"lastName"`
	Password  Password `json:"password"`
}

// Access is a company that a user may sign in for.
type Access struct {
	Company Company `json:"company"`
	Role    Role    `json:"role"`
}

// Company is a company as it was when an access to it was given.
type Company struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
	Tier string `json:"tier"`
}

// Link ties a user to an identity provider's subject, of which only a hash is kept.
type Link struct {
	Issuer  string `json:"issuer"`
	Subject Hash   `json:"subject"`
}

// Role is what a user is for a company.
type Role string

// Permission is something that a role may do, besides signing in.
type Permission string

// The permissions. Everyone who is signed in has None.
const (
	None        Permission = ""
	Reports     Permission = "reports"
	Geolocation Permission = "geolocation"
)

// roles are all roles and what they may do (contract §9).
var roles = map[Role][]Permission{
	"ADMIN":  {None, Reports, Geolocation},
	"VIEWER": {None},
}

// May tells whether a role allows something.
func (r Role) May(p Permission) bool { return slices.Contains(roles[r], p) }

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	if _, ok := roles[Role(name)]; !ok {
		return "", fmt.Errorf("the role %q is not one of %v", name, slices.Sorted(maps.Keys(roles)))
	}
	return Role(name), nil
}

// UserAdded says that there is a new user.
type UserAdded struct {
	User   ID     `json:"user"`
	Access Access `json:"access"`
	Person Person `json:"-"`
}

// PersonalPart is what the journal keeps apart, so that it can be erased.
func (e *UserAdded) PersonalPart() any { return &e.Person }

// AccessGiven says that a user got a further access, or another role in one.
type AccessGiven struct {
	User   ID     `json:"user"`
	Access Access `json:"access"`
}

// UserRemoved says that a user is gone, and with it its sessions.
type UserRemoved struct {
	User ID `json:"user"`
}

// Accounts is all that is remembered of company users and their sessions.
type Accounts struct {
	users    map[ID]*User
	sessions map[ID]*Session
	byToken  map[Hash]ID // sessions by every token of theirs that means something
}

// NewAccounts gives the state before the first user.
func NewAccounts() *Accounts { return &Accounts{map[ID]*User{}, map[ID]*Session{}, map[Hash]ID{}} }

// Users gives all users, by id.
func (a *Accounts) Users() []*User {
	return slices.SortedFunc(maps.Values(a.users), func(x, y *User) int { return bytes.Compare(x.ID[:], y.ID[:]) })
}

// Sessions gives all sessions, by id.
func (a *Accounts) Sessions() []*Session {
	return slices.SortedFunc(maps.Values(a.sessions), func(x, y *Session) int { return bytes.Compare(x.ID[:], y.ID[:]) })
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
	email = FoldEmail(email)
	for _, u := range a.users {
		if email != "" && FoldEmail(u.Person.Email) == email {
			return u
		}
	}
	return nil
}

// Login gives what to check a password against: the user with an e-mail, or nil and nobody's.
func (a *Accounts) Login(email string) (*User, Password) {
	if u := a.ByEmail(email); u != nil {
		return u, u.Person.Password
	}
	return nil, nobodys
}

// Access finds the user's access to a company; false when there is none.
func (u *User) Access(company string) (Access, bool) {
	i := slices.IndexFunc(u.Accesses, func(x Access) bool { return x.Company.ID == company })
	if i < 0 {
		return Access{}, false
	}
	return u.Accesses[i], true
}

// Identify finds the user whom an identity provider vouches for: the one linked to its subject, or else the one with
// its verified e-mail who has no other subject of the issuer; then link is to be made. The error is ErrCredentials.
func (a *Accounts) Identify(who *Identity) (u *User, link *Link, err error) {
	l := Link{who.Issuer, HashOf(who.Subject)}
	for _, u := range a.users {
		if slices.Contains(u.Links, l) {
			return u, nil, nil
		}
	}
	u = a.ByEmail(who.Email)
	switch {
	case u == nil:
		return nil, nil, refused("no user is linked to the subject or has its e-mail")
	case !who.EmailVerified:
		return nil, nil, refused("the e-mail is not verified")
	case slices.ContainsFunc(u.Links, func(x Link) bool { return x.Issuer == who.Issuer }):
		return nil, nil, refused("the user is linked to another subject of the issuer")
	}
	return u, &l, nil
}

// Add decides to give a person an access: an *AccessGiven to who has that e-mail already, or else a *UserAdded.
func (a *Accounts) Add(id ID, p Person, x Access) any {
	if u := a.ByEmail(p.Email); u != nil {
		return &AccessGiven{u.ID, x}
	}
	return &UserAdded{id, x, p}
}

// Remove decides to remove a user.
func (a *Accounts) Remove(email string) (*UserRemoved, error) {
	if u := a.ByEmail(email); u != nil {
		return &UserRemoved{u.ID}, nil
	}
	return nil, errors.New("there is no user with that e-mail")
}

func (a *Accounts) ApplyUserAdded(_ time.Time, e *UserAdded) {
	a.users[e.User] = &User{ID: e.User, Person: e.Person, Accesses: []Access{e.Access}}
}

func (a *Accounts) ApplyAccessGiven(_ time.Time, e *AccessGiven) {
	n := *a.users[e.User]
	others := slices.DeleteFunc(slices.Clone(n.Accesses), func(x Access) bool { return x.Company.ID == e.Access.Company.ID })
	n.Accesses = append(others, e.Access)
	a.users[e.User] = &n
}

func (a *Accounts) ApplyUserRemoved(_ time.Time, e *UserRemoved) {
	delete(a.users, e.User)
	for _, s := range a.sessions {
		if s.User == e.User {
			a.end(s)
		}
	}
}

// RestoreUser puts back a user of a snapshot.
func (a *Accounts) RestoreUser(u *User) { a.users[u.ID] = u }

// RestoreSession puts back a session of a snapshot.
func (a *Accounts) RestoreSession(s *Session) { a.keep(s, s.Refreshes...) }

// Password is what is kept of a password: PBKDF2-HMAC-SHA512, as pbkdf2-sha512$<iterations>$<salt>$<hash>.
type Password string

const (
	passwordScheme     = "pbkdf2-sha512"
	passwordIterations = 210_000 // contract §9
	passwordBytes      = 32      // of the hash
)

// NewPassword makes a Password, which takes as long as checking it does.
func NewPassword(password string) Password {
	var salt [16]byte
	rand.Read(salt[:])
	return derive(password, salt[:], passwordIterations)
}

// nobodys is checked for those who are not known, so that they take as long as those who are. No password matches it.
var nobodys = Password(fmt.Sprintf("%s$%d$%022d$", passwordScheme, passwordIterations, 0))

func derive(password string, salt []byte, iterations int) Password {
	hash, err := pbkdf2.Key(sha512.New, password, salt, iterations, passwordBytes)
	if err != nil {
		panic("auth: " + err.Error()) // only for lengths that FIPS 140 does not allow
	}
	b64 := base64.RawStdEncoding.EncodeToString
	return Password(fmt.Sprintf("%s$%d$%s$%s", passwordScheme, iterations, b64(salt), b64(hash)))
}

// Matches tells whether this is the password, with the parameters it was kept with.
func (p Password) Matches(password string) bool {
	parts := strings.Split(string(p), "$")
	if len(parts) != 4 || parts[0] != passwordScheme {
		return false
	}
	iterations, err := strconv.Atoi(parts[1])
	salt, bad := base64.RawStdEncoding.DecodeString(parts[2])
	return err == nil && bad == nil && iterations >= 1 &&
		subtle.ConstantTimeCompare([]byte(derive(password, salt, iterations)), []byte(p)) == 1 &&
		!strings.Contains(password, "\x00") // to HMAC, zeros at a key's end are nothing
}
