package oidc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/auth"
)

// Decision idtoken.checked: iss, aud, exp, nbf and iat are checked with 60 s of leeway; a subject has at most
// 255 characters.
func TestClaimsThatAreAccepted(t *testing.T) {
	all := published(t, algs...)
	for name, claims := range map[string]members{
		"aud an array with ours":       good().with("aud", `["x","waybill-app"]`),
		"aud an array of ours":         good().with("aud", `["waybill-app"]`),
		"azp ours":                     good().with("azp", `"waybill-app"`),
		"azp ours, several audiences":  good().with("aud", `["x","waybill-app"]`).with("azp", `"waybill-app"`),
		"exp 59.999 s ago":             good().with("exp", later(-59999*time.Millisecond)),
		"exp in 1e3 form":              good().with("exp", "1.9e9"),
		"nbf 60 s ahead":               good().with("nbf", later(time.Minute)),
		"nbf past":                     good().with("nbf", later(-time.Hour)),
		"iat 60 s ahead":               good().with("iat", later(time.Minute)),
		"iat absent":                   good().with("iat", ""),
		"iat 0":                        good().with("iat", "0"),
		"sub of 255 characters":        good().with("sub", `"`+strings.Repeat("s", 255)+`"`),
		"sub of 255 two-byte letters":  good().with("sub", `"`+strings.Repeat("ї", 255)+`"`),
		"sub escaped":                  good().with("sub", `"\u0073ubject-1"`),
		"claims nobody knows":          good().with("nonce", `{"Iss":[1,{"EXP":null}]}`).with("name", `"Їжак"`),
		"no e-mail":                    good().with("email", "").with("email_verified", ""),
		"an e-mail of another type":    good().with("email", `["anna@example.com"]`),
		"members of another provider":  good().with("at_hash", `"x"`).with("cnf", `{"jku":"https://x"}`).with("exp_", `"1"`),
		"wrong case in an inner value": good().with("act", `{"EXP":1,"EXP":2}`),
	} {
		t.Run(name, func(t *testing.T) { accepts(t, all, signers()["EdDSA"].token(claims.String())) })
	}
}

// Decision idtoken.audience: who made a token and for whom must be said exactly.
func TestClaimsOfAnotherIssuerAudienceOrSubjectAreRefused(t *testing.T) {
	all := published(t, algs...)
	for name, claims := range map[string]members{
		"iss absent":              good().with("iss", ""),
		"iss empty":               good().with("iss", `""`),
		"iss null":                good().with("iss", "null"),
		"iss another's":           good().with("iss", `"https://evil.example"`),
		"iss a prefix":            good().with("iss", `"https://idp.exampl"`),
		"iss with more":           good().with("iss", `"https://idp.example.evil.example"`),
		"iss with a slash":        good().with("iss", `"https://idp.example/"`),
		"iss in another case":     good().with("iss", `"https://IDP.example"`),
		"iss http":                good().with("iss", `"http://idp.example"`),
		"iss an array":            good().with("iss", `["https://idp.example"]`),
		"iss padded":              good().with("iss", `"https://idp.example "`),
		"iss with NUL":            good().with("iss", `"https://idp.example\u0000"`),
		"Iss":                     good().with("iss", "").with("Iss", `"https://idp.example"`),
		"aud absent":              good().with("aud", ""),
		"aud empty":               good().with("aud", `""`),
		"aud null":                good().with("aud", "null"),
		"aud foreign":             good().with("aud", `"other"`),
		"aud a number":            good().with("aud", "7"),
		"aud an empty array":      good().with("aud", "[]"),
		"aud a foreign array":     good().with("aud", `["other","waybill"]`),
		"aud an array of numbers": good().with("aud", "[1,2]"),
		"aud an array of types":   good().with("aud", `["waybill-app",1]`),
		"aud nested":              good().with("aud", `[["waybill-app"]]`),
		"aud an object":           good().with("aud", `{"waybill-app":true}`),
		"aud a prefix":            good().with("aud", `"waybill-ap"`),
		"aud with more":           good().with("aud", `"waybill-app2"`),
		"aud in another case":     good().with("aud", `"Waybill-App"`),
		"aud a list in a string":  good().with("aud", `"waybill-app other"`),
		"azp foreign":             good().with("azp", `"other"`),
		"azp foreign, aud ours among others": good().with("aud",
			`["waybill-app","other"]`).with("azp", `"other"`),
		"azp empty":             good().with("azp", `""`),
		"azp null":              good().with("azp", "null"),
		"azp an array":          good().with("azp", `["waybill-app"]`),
		"AZP":                   good().with("AZP", `"other"`),
		"sub absent":            good().with("sub", ""),
		"sub empty":             good().with("sub", `""`),
		"sub of 256 characters": good().with("sub", `"`+strings.Repeat("s", 256)+`"`),
		"sub a number":          good().with("sub", "12"),
		"sub null":              good().with("sub", "null"),
		"sub an array":          good().with("sub", `["subject-1"]`),
		"sub true":              good().with("sub", "true"),
		"Sub":                   good().with("sub", "").with("Sub", `"subject-1"`),
	} {
		t.Run(name, func(t *testing.T) { refuses(t, all, signers()["EdDSA"].token(claims.String())) })
	}
	// A trailing slash belongs to the issuer that has one.
	slash := Provider{Issuer: "https://idp.example/", Audience: "waybill-app"}
	token := signers()["EdDSA"].token(good().String())
	if _, err := all.Verify(token, slash, noon); !errors.Is(err, auth.ErrCredentials) {
		t.Errorf("without the issuer's slash: %v", err)
	}
	_, err := all.Verify(signers()["EdDSA"].token(good().with("iss", `"https://idp.example/"`).String()),
		slash, noon)
	if err != nil {
		t.Errorf("with the issuer's slash: %v", err)
	}
	// What was not configured is not "the same as nothing".
	for _, want := range []Provider{{}, {Issuer: ours.Issuer}, {Audience: ours.Audience}} {
		for _, aud := range []string{`""`, `[""]`, `"waybill-app"`} {
			for _, iss := range []string{`""`, `"https://idp.example"`} {
				token := signers()["EdDSA"].token(good().with("iss", iss).with("aud", aud).String())
				if _, err := all.Verify(token, want, noon); !errors.Is(err, auth.ErrCredentials) {
					t.Errorf("%+v, iss %s, aud %s: %v", want, iss, aud, err)
				}
			}
		}
	}
}

// Decision idtoken.checked: exp, nbf and iat are numbers of seconds, checked with 60 s of leeway.
func TestClaimsOfAnotherTimeAreRefused(t *testing.T) {
	all := published(t, algs...)
	for name, claims := range map[string]members{
		"exp absent":          good().with("exp", ""),
		"exp 60 s ago":        good().with("exp", later(-time.Minute)),
		"exp past":            good().with("exp", later(-time.Hour)),
		"exp 0":               good().with("exp", "0"),
		"exp negative":        good().with("exp", "-1"),
		"exp very negative":   good().with("exp", "-1e300"),
		"exp a string":        good().with("exp", `"`+later(time.Hour)+`"`),
		"exp null":            good().with("exp", "null"),
		"exp 1e999":           good().with("exp", "1e999"),
		"exp -1e999":          good().with("exp", "-1e999"),
		"exp true":            good().with("exp", "true"),
		"exp an array":        good().with("exp", "["+later(time.Hour)+"]"),
		"exp an object":       good().with("exp", "{}"),
		"exp NaN":             good().with("exp", "NaN"),
		"exp Infinity":        good().with("exp", "Infinity"),
		"exp hexadecimal":     good().with("exp", "0x7fffffff"),
		"exp a date":          good().with("exp", `"2027-01-01T00:00:00Z"`),
		"EXP":                 good().with("exp", "").with("EXP", later(time.Hour)),
		"EXP besides":         good().with("EXP", later(time.Hour)),
		"Exp later":           good().with("exp", later(-time.Hour)).with("Exp", later(time.Hour)),
		"nbf 60.001 s ahead":  good().with("nbf", later(60001*time.Millisecond)),
		"nbf ahead":           good().with("nbf", later(time.Hour)),
		"nbf a string":        good().with("nbf", `"0"`),
		"nbf null":            good().with("nbf", "null"),
		"nbf negative":        good().with("nbf", "-1"),
		"nbf 1e999":           good().with("nbf", "1e999"),
		"nbf an array":        good().with("nbf", "[0]"),
		"NBF":                 good().with("NBF", "0"),
		"iat 60.001 s ahead":  good().with("iat", later(60001*time.Millisecond)),
		"iat ahead":           good().with("iat", later(time.Hour)),
		"iat a string":        good().with("iat", `"0"`),
		"iat null":            good().with("iat", "null"),
		"iat negative":        good().with("iat", "-1"),
		"iat 1e999":           good().with("iat", "1e999"),
		"iat in milliseconds": good().with("iat", fmt.Sprint(noon.UnixMilli())),
		"IaT":                 good().with("IaT", "0"),
	} {
		t.Run(name, func(t *testing.T) { refuses(t, all, signers()["EdDSA"].token(claims.String())) })
	}
	// The leeway is told to the millisecond by the server's clock too.
	for _, part := range []time.Duration{0, 500 * time.Millisecond} {
		token := signers()["EdDSA"].token(good().with("nbf", later(part)).with("exp",
			later(time.Hour+part)).with("iat", "").String())
		first := noon.Add(part - time.Minute)
		end := noon.Add(part + time.Hour + time.Minute)
		for at, want := range map[time.Time]bool{
			end.Add(-time.Millisecond):   true,
			end:                          false,
			first:                        true,
			first.Add(-time.Millisecond): false,
		} {
			if _, err := all.Verify(token, ours, at); (err == nil) != want {
				t.Errorf("at %v: %v", at, err)
			}
		}
	}
}

// Decision idtoken.checked: claims are one well-formed JSON object in UTF-8, in which no claim
// is given twice.
func TestClaimsThatAreNotOneObjectAreRefused(t *testing.T) {
	all := published(t, algs...)
	text := good().String()
	for name, claims := range map[string]string{
		"iss twice":          good().and("iss", `"https://idp.example"`).String(),
		"sub twice":          good().and("sub", `"other"`).String(),
		"sub twice, escaped": good().and(`s\u0075b`, `"other"`).String(),
		"aud twice":          good().and("aud", `"other"`).String(),
		"exp twice":          good().and("exp", later(time.Hour)).String(),
		"email twice":        good().and("email", `"boss@example.com"`).String(),
		"email_verified twice": good().with("email_verified", "false").and("email_verified",
			"true").String(),
		"a claim nobody knows twice": good().and("x", "1").and("x", "1").String(),
		"Email":                      good().with("email", "").with("Email", `"boss@example.com"`).String(),
		"Email besides":              good().and("Email", `"boss@example.com"`).String(),
		"EMAIL_VERIFIED":             good().with("EMAIL_VERIFIED", "true").String(),
		"iss with a long s":          good().with("iss", "").with("i\u017f\u017f", `"https://idp.example"`).String(),
		"an array":                   "[" + text + "]",
		"a string":                   `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`,
		"null":                       "null",
		"a number":                   "1",
		"true":                       "true",
		"nothing":                    "",
		"only spaces":                "  ",
		"empty object":               "{}",
		"trailing object":            text + "{}",
		"trailing brace":             text + "}",
		"trailing letter":            text + "x",
		"trailing NUL":               text + "\x00",
		"trailing comma":             text + ",",
		"two tokens":                 text + text,
		"cut off":                    text[:len(text)-1],
		"cut in a string":            text[:20],
		"a comma too many":           text[:len(text)-1] + ",}",
		"a comma first":              "{," + text[1:],
		"single quotes":              strings.ReplaceAll(text, `"`, "'"),
		"a comment":                  text[:1] + "/* */" + text[1:],
		"closed by a bracket":        text[:len(text)-1] + "]",
		"no colon":                   strings.Replace(text, ":", " ", 1),
		"a bare name":                strings.Replace(text, `"iss"`, "iss", 1),
		"BOM":                        "\ufeff" + text,
		"invalid UTF-8 in sub":       good().with("sub", "\"a\xff\"").String(),
		"invalid UTF-8 in a name":    good().with("x\xc3", "1").String(),
		"UTF-8 of a surrogate":       good().with("x", "\"\xed\xa0\x80\"").String(),
		"overlong UTF-8":             good().with("x", "\"\xc0\xaf\"").String(),
		"UTF-16":                     "\x00{\x00}",
		"a newline in a string":      good().with("x", "\"a\nb\"").String(),
		"a leading zero":             good().with("x", "01").String(),
		"very deep":                  good().with("x", strings.Repeat("[", 2000)).String(),
	} {
		t.Run(name, func(t *testing.T) { refuses(t, all, signers()["EdDSA"].token(claims)) })
	}
}

// Decision idtoken.checked: an e-mail counts as verified only where email_verified is true, and is none where
// it is no string.
func TestAnEmailIsVerifiedOnlyByTrue(t *testing.T) {
	all := published(t, algs...)
	for _, value := range []string{"", "false", `"true"`, `"false"`, "1", "null", "[true]", `{"true":true}`,
		"0", `"TRUE"`} {
		t.Run("email_verified "+value, func(t *testing.T) {
			who := accepts(t, all, signers()["EdDSA"].token(good().with("email_verified",
				value).String()))
			if who.EmailVerified || who.Email != "anna@example.com" {
				t.Errorf("%+v", who)
			}
		})
	}
	for _, value := range []string{"", "null", "7", `["anna@example.com"]`, `""`} {
		t.Run("email "+value, func(t *testing.T) {
			who := accepts(t, all, signers()["EdDSA"].token(good().with("email", value).String()))
			if who.Email != "" {
				t.Errorf("%+v", who)
			}
		})
	}
	upn := ours
	upn.EmailClaim = "upn"
	for value, want := range map[string]string{`"boss@example.com"`: "boss@example.com", "": "", "7": ""} {
		who, err := all.Verify(signers()["EdDSA"].token(good().with("upn", value).String()), upn, noon)
		if err != nil || who.Email != want {
			t.Errorf("the e-mail's claim is upn, %s: %+v, %v", value, who, err)
		}
	}
}
