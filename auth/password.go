package auth

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// Password is what is kept of a password: PBKDF2-HMAC-SHA512 with its
// parameters, as text: pbkdf2-sha512$<iterations>$<salt>$<hash>.
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
	if err != nil || bad != nil || iterations < 1 {
		return false
	}
	same := subtle.ConstantTimeCompare([]byte(derive(password, salt, iterations)), []byte(p)) == 1
	return same && !strings.Contains(password, "\x00") // to HMAC, zeros at a key's end are nothing
}
