package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/auth"
	"waybill/schedule"
	"waybill/server/idp"
	"waybill/store"
)

// NewUser is a person to be given an access. Of one who has an account already, only the e-mail counts.
type NewUser struct {
	Email, FirstName, LastName, Password string
	Company                              string // its slug
	Role                                 auth.Role
}

var errNewUser = errors.New("a new user has a first name, a last name and a password, which is the first line of standard input")

// AddUser gives a person an access, and tells whether it made the user.
func (s *Server) AddUser(n NewUser) (made bool, err error) {
	tt := s.timetable.Load()
	i := slices.IndexFunc(tt.Companies, func(c schedule.Company) bool { return c.Slug == n.Company })
	switch {
	case !ValidEmail(n.Email):
		return false, fmt.Errorf("%q is not an e-mail address", n.Email)
	case i < 0:
		return false, fmt.Errorf("no company of the timetable has the slug %q", n.Company)
	}
	p := auth.Person{Salt: auth.ID(s.newID()), Email: n.Email, FirstName: n.FirstName, LastName: n.LastName}
	if n.Password != "" {
		p.Password = auth.NewPassword(n.Password) // not under the lock: it takes long
	}
	_, err = s.do(func(st *State, _ time.Time) (Event, error) {
		e := st.Accounts.Add(auth.ID(s.newID()), p, auth.Access{Company: companyOf(&tt.Companies[i]), Role: n.Role})
		if _, made = e.(*auth.UserAdded); made && (!validName(n.FirstName) || !validName(n.LastName) || n.Password == "") {
			return nil, errNewUser
		}
		return e, nil
	})
	return made, err
}

func (s *Server) adminUserAdd(_ context.Context, form url.Values, out io.Writer) error {
	role, err := auth.ParseRole(form.Get("role"))
	if err != nil {
		return err
	}
	made, err := s.AddUser(NewUser{form.Get("email"), form.Get("first-name"), form.Get("last-name"), form.Get("password"), form.Get("company"), role})
	if err != nil {
		return err
	}
	known := ""
	if !made {
		known = "; name and password are as they were"
	}
	_, err = fmt.Fprintf(out, "%s is %s of %s%s\n", form.Get("email"), role, form.Get("company"), known)
	return err
}

func (s *Server) adminUserList(_ context.Context, _ url.Values, out io.Writer) error {
	var users []*auth.User
	sessions := map[auth.ID]int{}
	if err := s.st.View(func(st *State, now time.Time) {
		users = st.Accounts.Users()
		for _, x := range st.Accounts.Sessions() {
			if now.Before(x.Until) {
				sessions[x.User]++
			}
		}
	}); err != nil {
		return err
	}
	slices.SortFunc(users, func(a, b *auth.User) int { return strings.Compare(a.Person.Email, b.Person.Email) })
	for _, u := range users {
		fmt.Fprintf(out, "%s  %s  %s %s  %d sessions\n", u.ID, u.Person.Email, u.Person.FirstName, u.Person.LastName, sessions[u.ID])
		for _, a := range s.accesses(u) {
			fmt.Fprintf(out, "  %s of %s\n", a.Role, a.Company.Slug)
		}
	}
	return nil
}

func (s *Server) adminUserRemove(_ context.Context, form url.Values, out io.Writer) error {
	_, err := s.do(func(st *State, _ time.Time) (Event, error) {
		return st.Accounts.Remove(form.Get("email"), form.Get("company"))
	})
	if err == nil {
		_, err = fmt.Fprintln(out, "removed; their sessions have ended")
	}
	return err
}

// adminIDToken mints an ID token of the development provider.
func (s *Server) adminIDToken(_ context.Context, form url.Values, out io.Writer) error {
	if s.cfg.IDP != nil {
		return errors.New("the server trusts the identity provider of its -idp flags, not the built-in one")
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	key, err := s.developmentKey()
	if err == nil {
		_, err = fmt.Fprintln(out, auth.Mint(key, form.Get("email"), now))
	}
	return err
}

// openIDP makes a directory trust the built-in provider, unless another one is configured.
func (s *Server) openIDP() error {
	if s.idp = s.cfg.IDP; s.idp != nil {
		return nil
	}
	key, err := s.developmentKey()
	if err == nil {
		s.idp = idp.Development(auth.DevelopmentKeys(key.Public().(ed25519.PublicKey)))
	}
	return err
}

// idpFile holds the seed of the development provider's key, in hex.
const idpFile = "development-idp"

// developmentKey gives the key of the built-in identity provider, which it makes if there is none.
func (s *Server) developmentKey() (ed25519.PrivateKey, error) {
	text, err := readKey(s.cfg.FS, idpFile)
	if errors.Is(err, fs.ErrNotExist) {
		_, key, _ := ed25519.GenerateKey(nil)
		return key, s.saveKey(idpFile, fmt.Appendf(nil, "%x\n", key.Seed()))
	}
	seed, bad := hex.DecodeString(strings.TrimSpace(string(text)))
	if err == nil && (bad != nil || len(seed) != ed25519.SeedSize) {
		err = &store.Damage{Place: store.Place{File: keyDir + "/" + idpFile}, Reason: "is not a key"}
	}
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
