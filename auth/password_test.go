package auth

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// iterationsOf returns what a kept password says of its cost.
func iterationsOf(t *testing.T, p Password) int {
	t.Helper()
	parts := strings.Split(string(p), "$")
	if len(parts) != 4 || parts[0] != "pbkdf2-sha512" {
		t.Fatalf("%q", p)
	}
	n, err := strconv.Atoi(parts[1])
	salt, bad := base64.RawStdEncoding.DecodeString(parts[2])
	if err != nil || bad != nil || len(salt) != 16 {
		t.Fatalf("%q: %v, %v", p, err, bad)
	}
	return n
}

// keptSecret is a password that was kept, made once.
var keptSecret = sync.OnceValue(func() Password { return NewPassword(rand.Reader, "secret") })

// Decision passwords.hashed: PBKDF2-HMAC-SHA512 with 210,000 iterations and a salt of its own.
func TestAPasswordMatchesOnlyItself(t *testing.T) {
	t.Parallel()
	kept := keptSecret()
	if n := iterationsOf(t, kept); n != 210_000 {
		t.Errorf("%d iterations", n)
	}
	if !matches(kept, "secret") || strings.Contains(string(kept), "secret") {
		t.Error("it does not match itself, or is kept as it is")
	}
	if other := NewPassword(rand.Reader, "secret"); other == kept {
		t.Error("two have the same salt")
	}
	cyrillic := derive("Пароль 1$", nil, 1)
	if !matches(cyrillic, "Пароль 1$") || matches(cyrillic, "Пароль 1") {
		t.Error("one in Cyrillic does not match itself alone")
	}
	cheap := derive("secret", []byte("0123456789abcdef"), 1)
	for _, wrong := range []string{"", "Secret", "secret ", " secret", "secre", "secrett", string(cheap),
		strings.Repeat("secret", 100)} {
		if matches(cheap, wrong) {
			t.Errorf("%q matches", wrong)
		}
	}
	if empty := derive("", []byte("0123456789abcdef"), 1); !matches(empty, "") || matches(empty, "x") {
		t.Error("the empty password does not match itself alone")
	}
}

// Decision passwords.hashed: parameters are stored with the hash, so those of former days still work.
func TestAPasswordIsCheckedWithTheParametersItWasKeptWith(t *testing.T) {
	for _, iterations := range []int{1, 2, 1000, 3000} {
		for _, salt := range []string{"", "x", "0123456789abcdef", strings.Repeat("long", 64)} {
			// Made here by the standard library, in the form that is documented.
			hash, err := pbkdf2.Key(sha512.New, "secret", []byte(salt), iterations, 32)
			if err != nil {
				t.Fatal(err)
			}
			b64 := base64.RawStdEncoding.EncodeToString
			text := fmt.Sprintf("pbkdf2-sha512$%d$%s$%s", iterations, b64([]byte(salt)), b64(hash))
			kept := Password(text)
			if !matches(kept, "secret") || matches(kept, "secret2") {
				t.Errorf("%d iterations, salt %q: the password does not match itself alone", iterations, salt)
			}
		}
	}
}

// Decision passwords.hashed: what is no password that was kept matches none.
func TestAMalformedPasswordMatchesNone(t *testing.T) {
	kept := derive("secret", []byte("0123456789abcdef"), 2)
	parts := strings.Split(string(kept), "$")
	join := func(i int, part string) string {
		n := append([]string(nil), parts...)
		n[i] = part
		return strings.Join(n, "$")
	}
	for name, text := range map[string]string{
		"nothing":                       "",
		"separators":                    "$$$",
		"too few parts":                 strings.Join(parts[:3], "$"),
		"too many parts":                string(kept) + "$",
		"plain":                         "secret",
		"something before":              " " + string(kept),
		"another scheme":                join(0, "pbkdf2-sha256"),
		"scheme in another case":        join(0, "PBKDF2-SHA512"),
		"no scheme":                     join(0, ""),
		"bcrypt":                        "$2a$10$N9qo8uLOickgx2ZMRZoMye",
		"0 iterations":                  join(1, "0"),
		"-2 iterations":                 join(1, "-2"),
		"iterations with a plus":        join(1, "+2"),
		"iterations with a zero before": join(1, "02"),
		"no iterations":                 join(1, ""),
		"other iterations":              join(1, "3"),
		"iterations not a number":       join(1, "two"),
		"too many iterations":           join(1, "99999999999999999999"),
		"iterations with a point":       join(1, "2.0"),
		"iterations in hexadecimal":     join(1, "0x2"),
		"0 iterations, its own hash":    string(derive("secret", []byte("0123456789abcdef"), 0)),
		"-1 iterations, its own hash":   string(derive("secret", []byte("0123456789abcdef"), -1)),
		"salt padded":                   join(2, parts[2]+"=="),
		"salt in another alphabet":      join(2, "__--"),
		"another salt":                  join(2, "AAAA"),
		"no salt":                       join(2, ""),
		"salt with a newline":           join(2, parts[2]+"\n"),
		"no hash":                       join(3, ""),
		"hash cut":                      join(3, parts[3][:42]),
		"hash longer":                   join(3, parts[3]+"A"),
		"hash padded":                   join(3, parts[3]+"="),
		"hash in another case":          join(3, strings.ToLower(parts[3])),
		"hash of stray bits":            join(3, parts[3][:42]+string(parts[3][42]+1)),
		"hash with a newline":           join(3, parts[3]+"\n"),
		"zero hash":                     join(3, strings.Repeat("A", 43)),
	} {
		for _, password := range []string{"secret", "", "$$$", text} {
			if matches(Password(text), password) {
				t.Errorf("%s: %q matches %q", name, text, password)
			}
		}
	}
	if !matches(kept, "secret") {
		t.Error("the one that they were made of does not match")
	}
}

// Decision passwords.hashed: a wrong e-mail costs what a wrong password costs, and nobody's password is none.
func TestNobodysPasswordCostsWhatAUsersDoes(t *testing.T) {
	t.Parallel()
	anna := &User{Person: Person{Password: keptSecret()}}
	if !IsPassword(anna, "secret") || IsPassword(anna, "Secret") || IsPassword(nil, "secret") {
		t.Error("a user's password is not hers alone")
	}
	if k, n := iterationsOf(t, anna.Person.Password), iterationsOf(t, nobodys); k != n || k != 210_000 {
		t.Errorf("%d iterations for a user and %d for nobody", k, n)
	}
	if matches(nobodys, "") {
		t.Error("nobody's password is the empty one")
	}
}

// To HMAC a password with zeros at its end is the same as without.
func TestZerosAtAPasswordsEndCount(t *testing.T) {
	if matches(derive("secret", []byte("0123456789abcdef"), 1), "secret\x00") {
		t.Error("it matches")
	}
}

func BenchmarkPassword(b *testing.B) {
	p := NewPassword(rand.Reader, "correct horse")
	for b.Loop() {
		if !matches(p, "correct horse") {
			b.Fatal("it does not match")
		}
	}
}
