package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// with runs a command with a standard input.
func with(stdin string, args ...string) (code int, output string) {
	var out bytes.Buffer
	code = Main(&Process{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out,
		Env: func(string) (string, bool) { return "", false },
	})
	return code, out.String()
}

// Decision users.roles: user add reads the password from stdin's first line; a further call adds an access.
// Decision idtoken.builtin: the development provider's tokens are only minted where it is trusted.
func TestUserVerbs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "is in force", "import", "-data", dir, "../../testdata/demo")
	add := func(more ...string) []string {
		return append([]string{"user", "add", "-data", dir, "-email", "anna@example.com", "-company",
			"zorevia-lines"}, more...)
	}
	// The first start makes the key that signs ID tokens.
	minted := 1
	token := "was never served"
	for _, live := range []bool{false, true} {
		if live {
			minted = 0
			token = "^ey"
			s := serve(t, "-data", dir)
			defer s.stop()
		}
		for _, c := range []struct {
			stdin string
			code  int
			want  string
			args  []string
		}{
			{"", 2, "-role", add("-first-name", "Anna", "-last-name", "Nowak")},
			{"", 2, "-role: \"OWNER\" is not one of ADMIN, VIEWER", add("-role", "OWNER")},
			{"", 2, "-email", []string{"user", "add", "-data", dir, "-email", "anna", "-company", "zorevia-lines", "-role", "ADMIN"}},
			{"", 2, "-company", []string{"user", "add", "-data", dir, "-email", "anna@example.com", "-role", "ADMIN"}},
			{"", 2, `-email "anna\\u00ad@example.com" is not`, []string{"user", "add", "-data", dir, "-email",
				"anna\u00ad@example.com", "-company", "zorevia-lines", "-role", "ADMIN"}},
			{"", 1, "first line of standard input", add("-first-name", "Anna", "-last-name", "Nowak", "-role", "ADMIN")},
			{"secret\n", 1, "first name", add("-role", "ADMIN")},
			{"secret\r\nmore\n", 0, "anna@example.com is ADMIN of zorevia-lines\n",
				add("-first-name", "Anna", "-last-name", "Nowak", "-role", "ADMIN")},
			{"", 0, "as they were", add("-role", "VIEWER")},
			{"", 1, "no company", []string{"user", "add", "-data", dir, "-email", "anna@example.com",
				"-company", "nowhere", "-role", "ADMIN"}},
			{"", 2, "-email", []string{"idtoken", "-data", dir, "-email", "anna"}},
			{"", minted, token, []string{"idtoken", "-data", dir, "-email", "anna@example.com"}},
			{"", 0, "user.access_given", []string{"log", "-data", dir}},
			{"", 0, "sessions have ended", []string{"user", "remove", "-data", dir, "anna@example.com"}},
			{"", 1, "no user", []string{"user", "remove", "-data", dir, "anna@example.com"}},
		} {
			code, output := with(c.stdin, c.args...)
			if code != c.code || !matches(c.want, output) {
				t.Errorf("live %v: %v: exit %d, want %d and %q\n%s", live, c.args, code, c.code, c.want,
					output)
			}
			if strings.Contains(output, "secret") {
				t.Errorf("%v shows the password", c.args)
			}
		}
	}
	journal, err := os.ReadFile(filepath.Join(dir, "journal/000000000001.jsonl"))
	if err != nil || bytes.Contains(journal, []byte("secret")) {
		t.Error("the journal shows the password", err)
	}
}

// Decision idtoken.checked: all three flags of a provider, or none. A file that has no key set is told at the
// start; a provider that is down is not.
func TestProviderFlags(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 2, "must all be given", "serve", "-idp-issuer", "https://sso.example.com")
	want(t, 2, "must all be given", "serve", "-idp-issuer", "https://sso.example.com", "-idp-audience", "x")
	want(t, 2, "must all be given", "serve", "-idp-jwks", "https://sso.example.com/keys")
	want(t, 2, "not an http", "serve", "-idp-issuer", "https://sso.example.com", "-idp-audience", "x",
		"-idp-jwks", "ftp://sso.example.com/keys")
	idp := []string{"serve", "-data", dir, "-idp-issuer", "https://sso.example.com", "-idp-audience", "x",
		"-idp-jwks"}
	for text, says := range map[string]string{
		`{"issuer":"https://sso.example.com","jwks_uri":"https://x"}`: `not a JSON Web Key Set, as in .*, but the ` +
			`provider's configuration, whose jwks_uri names the key set`,
		"-----BEGIN PUBLIC KEY-----\n":                      `, in line 1`,
		`{"keys":[{"kty":"oct","kid":"a","k":"c2VjcmV0"}]}`: `key 1, kid "a", is none of RSA .* kty "oct"`,
	} {
		file := written(t, text)
		want(t, 78, "^waybill: -idp-jwks "+regexp.QuoteMeta(file)+": .*"+says, append(idp, file)...)
	}
	want(t, 78, "-idp-jwks .*no such file", append(idp, filepath.Join(dir, "keys.json"))...)
	s := serve(t, append(idp[1:], "https://127.0.0.1:1/keys")...)
	defer s.stop()
	want(t, 1, "-idp flags", "idtoken", "-data", dir, "-email", "demo@example.com")
}

// What somebody else has written does nothing on a terminal: verbs show it as in \u202e, in what they list
// and in errors. JSON has it as it is.
func TestWhatVerbsPrintIsHarmless(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "is in force", "import", "-data", dir, "../../testdata/demo")
	code, output := with("secret-enough\n", "user", "add", "-data", dir, "-email", "anna@example.com",
		"-company", "zorevia-lines", "-role", "ADMIN", "-first-name", "An\u202ena", "-last-name", "Nowak")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, output)
	}
	want(t, 0, `anna@example.com  An\\u202ena Nowak`, "user", "list", "-data", dir)
	want(t, 0, "\"An\u202ena\"", "user", "list", "-data", dir, "-json")
	want(t, 1, `^waybill: .*\\u001b\[2J\\u009bfeed`, "import", "-data", dir, "\x1b[2J\u009bfeed")
	want(t, 2, `^waybill: .*\\u001b`, "serve", "-\x1b")
}
