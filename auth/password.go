package auth

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	passwordScheme     = "pbkdf2-sha512"
	passwordIterations = 210_000 // decision passwords.hashed
	passwordBytes      = 32      // of the hash
)

// NewPassword returns what is kept of a password. It takes as long as checking the password does.
func NewPassword(random io.Reader, password string) Password {
	var salt [16]byte
	fill(random, salt[:])
	return derive(password, salt[:], passwordIterations)
}

func derive(password string, salt []byte, iterations int) Password {
	hash, err := pbkdf2.Key(sha512.New, password, salt, iterations, passwordBytes)
	if err != nil {
		panic("auth: " + err.Error()) // only for lengths that FIPS 140 does not allow
	}
	b64 := base64.RawStdEncoding.EncodeToString
	return Password(fmt.Sprintf("%s$%d$%s$%s", passwordScheme, iterations, b64(salt), b64(hash)))
}

// nobodys is checked for those who are not known, so that they take as long as those who are. No password
// matches it.
var nobodys = Password(fmt.Sprintf("%s$%d$%022d$", passwordScheme, passwordIterations, 0))

// IsPassword reports whether this is the user's password. A nil user has none, and takes as long to check.
func IsPassword(u *User, password string) bool {
	kept := nobodys
	if u != nil {
		kept = u.Person.Password
	}
	return matches(kept, password) && u != nil
}

// matches reports whether this is the password, with the parameters that it was kept with.
func matches(kept Password, password string) bool {
	parts := strings.Split(string(kept), "$")
	if len(parts) != 4 || parts[0] != passwordScheme {
		return false
	}
	iterations, err := strconv.Atoi(parts[1])
	salt, bad := base64.RawStdEncoding.DecodeString(parts[2])
	return err == nil && bad == nil && iterations >= 1 &&
		subtle.ConstantTimeCompare([]byte(derive(password, salt, iterations)), []byte(kept)) == 1 &&
		!strings.Contains(password, "\x00") // to HMAC, zeros at a key's end are nothing
}
