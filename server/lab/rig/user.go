package rig

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/ledger"
)

// AddUser gives a person who has no account yet an access and an account, by the line that user-add writes.
// Only what is kept of the password is another: it is of one iteration, as it says itself, where user-add has
// 210,000 (decision passwords.hashed). Those are to take long, there and each time that the password is
// checked; tests of something else need not wait for them.
func AddUser(t testing.TB, s *server.Server, by ledger.By, p auth.Person, password, slug string,
	role auth.Role) {
	t.Helper()
	company, err := s.Admin.CompanyBySlug(slug)
	if err != nil {
		t.Fatal(err)
	}
	p.Salt = s.NewID()
	p.Password = onceHashed(t, password)
	_, err = s.Store.Update(func(st ledger.State, _ time.Time) ([]ledger.Entry, error) {
		e, err := st.Accounts.Add(s.NewID(), p, auth.Access{
			Company: web.CompanyOf(company),
			Role:    role,
		}, nil)
		if _, made := e.(*auth.UserAdded); err == nil && !made {
			err = fmt.Errorf("%s has an account already", p.Email)
		}
		return []ledger.Entry{{Event: e, By: &by}}, err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// onceHashed returns what is kept of a password, by one iteration.
func onceHashed(t testing.TB, password string) auth.Password {
	t.Helper()
	const bytes = 32
	salt := []byte("0123456789abcdef")
	hash, err := pbkdf2.Key(sha512.New, password, salt, 1, bytes)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawStdEncoding.EncodeToString
	return auth.Password(fmt.Sprintf("pbkdf2-sha512$1$%s$%s", b64(salt), b64(hash)))
}
