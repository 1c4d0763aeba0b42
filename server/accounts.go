package server

import (
	"crypto/ed25519"
	"crypto/rand"
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

var errNewUser = errors.New("a new user has a first name, a last name and a password without control characters, which is the first line of standard input")

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
		if _, made = e.(*auth.UserAdded); made && (!validName(n.FirstName) || !validName(n.LastName) || n.Password == "" || hasControl(n.Password)) {
			return nil, errNewUser
		}
		return e, nil
	})
	return made, err
}

func (s *Server) adminUserAdd(form url.Values, _ io.Writer) (string, error) {
	role, err := auth.ParseRole(form.Get("role"))
	if err != nil {
		return "", err
	}
	made, err := s.AddUser(NewUser{form.Get("email"), form.Get("first-name"), form.Get("last-name"), form.Get("password"), form.Get("company"), role})
	known := ""
	if !made {
		known = "; name and password are as they were"
	}
	return fmt.Sprintf("%s is %s of %s%s", form.Get("email"), role, form.Get("company"), known), err
}

func (s *Server) adminUserRemove(form url.Values, _ io.Writer) (string, error) {
	_, err := s.do(func(st *State, _ time.Time) (Event, error) {
		return st.Accounts.Remove(form.Get("email"))
	})
	return "removed; the user's sessions have ended", err
}

// adminIDToken mints an ID token of the development provider.
func (s *Server) adminIDToken(form url.Values, _ io.Writer) (string, error) {
	if s.idpKey == nil {
		return "", errors.New("the server trusts the identity provider of its -idp flags, not the built-in one")
	}
	now, err := s.Now()
	return auth.Mint(s.idpKey, form.Get("email"), now), err
}

// idpFile holds the seed of the development provider's key, in hex.
const idpFile = "development-idp"

// openIDP trusts the built-in provider, whose key it reads or makes, unless another one is configured.
func (s *Server) openIDP() error {
	if s.idp = s.cfg.IDP; s.idp != nil {
		s.idp.Linked = s.linked
		return nil
	}
	text, err := readKey(s.cfg.FS, idpFile)
	seed, bad := hex.DecodeString(strings.TrimSpace(string(text)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		seed = make([]byte, ed25519.SeedSize)
		rand.Read(seed)
		err = s.saveKey(idpFile, fmt.Appendf(nil, "%x\n", seed))
	case err == nil && (bad != nil || len(seed) != ed25519.SeedSize):
		err = &store.Damage{Place: store.Place{File: keyDir + "/" + idpFile}, Reason: "is not a key"}
	}
	if err == nil {
		s.idpKey = ed25519.NewKeyFromSeed(seed)
		s.idp = idp.Development(auth.DevelopmentKeys(s.idpKey.Public().(ed25519.PublicKey)))
	}
	return err
}
