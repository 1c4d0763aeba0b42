package admin

import (
	"cmp"
	"errors"
	_ "expvar"
	"fmt"
	"io"
	"net/http"
	_ "net/http/pprof"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/auth"
	"waybill/auth/oidc"
	"waybill/schedule"
	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/store/live"
)

// An operation is what a verb of the command line does to a directory, through the running server's socket or
// by itself.
type operation struct {
	// do returns, or writes, what the verb prints.
	do func(*Executor, *Act) (string, error)
	// check returns what the form alone shows wrong, before anything is opened. The form's fields have the
	// names of the verb's operands and flags.
	check func(url.Values) error
	// reads reports whether an act of the form changes nothing, so that the directory is only read for it.
	// nil: each changes something.
	reads func(url.Values) bool
}

// operations are all there are, by name.
var operations = map[string]operation{
	"import":         {(*Executor).adminImport, checkImport, isDryRun},
	"partner-add":    {(*Executor).adminPartnerAdd, checkPartner, nil},
	"partner-list":   {(*Executor).adminPartnerList, checkPartnerList, always},
	"partner-revoke": {(*Executor).adminPartnerRevoke, nothingToCheck, nil},
	"ticket-move":    {(*Executor).adminTicketMove, checkMove, nil},
	"ticket-cancel":  {(*Executor).adminTicketCancel, checkCancel, isDryRun},
	"ticket-status":  {(*Executor).adminTicketStatus, checkStatus, nil},
	"ticket-asked":   {(*Executor).adminTicketAsked, nothingToCheck, always},
	"ticket-answer":  {(*Executor).adminTicketAnswer, checkAnswer, nil},
	"run-cancel":     {(*Executor).adminRunCancel, checkRun, isDryRun},
	"run-move":       {(*Executor).adminRunMove, checkRunMove, isDryRun},
	"run-restore":    {(*Executor).adminRunRestore, checkRun, isDryRun},
	"manifest":       {(*Executor).adminManifest, checkManifest, nil},
	"rotate-keys":    {(*Executor).adminRotateKeys, nothingToCheck, nil},
	"user-add":       {(*Executor).adminUserAdd, checkUser, nil},
	"user-remove":    {(*Executor).adminUserRemove, nothingToCheck, nil},
	"idtoken":        {(*Executor).adminIDToken, checkEmail, always},
	"forget":         {(*Executor).adminForget, checkForget, isDryRun},
	"outbox-list":    {(*Executor).adminOutboxList, nothingToCheck, always},
	"company-list":   {(*Executor).adminCompanyList, nothingToCheck, always},
	"user-list":      {(*Executor).adminUserList, nothingToCheck, always},
	"outbox-retry":   {(*Executor).adminOutboxRetry, nothingToCheck, nil},
	"sign":           {(*Executor).adminSign, nothingToCheck, nil},
}

// always is of operations that change nothing.
func always(url.Values) bool { return true }

// isDryRun reports whether an act is only to say what would happen.
func isDryRun(form url.Values) bool { return form.Has("dry-run") }

// Reads reports whether an operation with such a form changes nothing in the directory.
func Reads(op string, form url.Values) bool {
	known := operations[op]
	return known.reads != nil && known.reads(form)
}

// An Act is one call of an admin operation.
type Act struct {
	By   ledger.By  // who calls
	Form url.Values // the verb's operands and flags, by name
	Out  io.Writer  // what the verb prints
}

// JSON reports whether a list is asked for as JSON.
func (a *Act) JSON() bool {
	return a.Form.Has("json")
}

// Do does one of the admin operations.
func (s *Executor) Do(op string, a *Act) error {
	// Verb and server may be of different builds: whoever installs a new one restarts the server later.
	known, ok := operations[op]
	if !ok {
		return fmt.Errorf("the running server does not know %q; is it another version?", op)
	}
	if err := CheckForm(op, a.Form); err != nil {
		return err
	}
	said, err := known.do(s, a)
	if errors.Is(err, live.ErrFailed) {
		err = fmt.Errorf("%w; it is not known whether this was done", err)
	}
	if err == live.ErrSilent { // else what wraps it says how far it came
		after := "nothing was changed"
		if Reads(op, a.Form) {
			after += ", and this can be read once it does"
		}
		err = fmt.Errorf("%w; %s", err, after)
	}
	if s.Still.Load() && !s.Config.Verb {
		s.RunDue()
	}
	if err == nil && said != "" {
		_, err = io.WriteString(a.Out, said+"\n")
	}
	return err
}

// ErrorTrailer is the trailer that carries an operation's error, query-escaped.
const ErrorTrailer = "Waybill-Error"

// Handler serves POST /<operation> with a form, for a socket that only the directory's owner can reach.
// Under /debug/ it shows the process to its owner: profiles, and variables of the runtime.
func (s *Executor) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/debug/") {
			http.DefaultServeMux.ServeHTTP(w, r) // where pprof and expvar are
			return
		}
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
			http.Error(w, "POST a form", http.StatusBadRequest)
			return
		}
		// The kernel has said who is at the other end of the socket.
		by, known := Caller(r.Context())
		if !known { // no line may be without its author
			http.Error(w, "the caller is not known", http.StatusForbidden)
			return
		}
		// What the verb prints is sent while it works, so that the error can only come at its end.
		w.Header().Set("Trailer", ErrorTrailer)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		if err := s.Do(strings.TrimPrefix(r.URL.Path, "/"), &Act{by, r.PostForm, w}); err != nil {
			w.Header().Set(ErrorTrailer, url.QueryEscape(err.Error()))
		}
	})
}

// adminPartnerAdd gives a partner a new API key, which it returns. This is the only time that it is shown.
func (s *Executor) adminPartnerAdd(a *Act) (string, error) {
	var slugs []string
	for slug := range strings.SplitSeq(a.Form.Get("company"), ",") {
		slug = strings.TrimSpace(slug)
		if slug != "" {
			if _, err := s.CompanyBySlug(slug); err != nil {
				return "", err
			}
			slugs = append(slugs, slug)
		}
	}
	return s.addPartner(a.By, a.Form.Get("name"), slugs)
}

// CompanyBySlug finds a company of the timetable in force.
func (s *Executor) CompanyBySlug(slug string) (*schedule.Company, error) {
	tt := s.Timetable.Load()
	i := slices.IndexFunc(tt.Companies, func(c schedule.Company) bool {
		return c.Slug == slug
	})
	if i < 0 {
		return nil, fmt.Errorf("no company of the timetable has the slug %q", slug)
	}
	return &tt.Companies[i], nil
}

// AddPartner makes an API key for a partner, and the partner if it is new. The process does it.
func (s *Executor) AddPartner(name string, companies []string) (key string, err error) {
	return s.addPartner(Self(), name, companies)
}

// addPartner makes a key and, where the partner is new, the partner. Only the hash of the key is kept.
func (s *Executor) addPartner(by ledger.By, name string, companies []string) (key string, err error) {
	key, hash := auth.NewKey(s.Config.Random)
	err = s.administer(by, func(st ledger.State, _ time.Time) (ledger.Event, error) {
		return st.Partners.AddKey(s.NewID(), name, companies, hash)
	})
	return key, err
}

// adminPartnerRevoke ends one key of a partner, or all.
func (s *Executor) adminPartnerRevoke(a *Act) (string, error) {
	var revoked int
	// Requests that are under way with the key still end; the next is refused.
	err := s.administer(a.By, func(st ledger.State, _ time.Time) (ledger.Event, error) {
		e, err := st.Partners.Revoke(a.Form.Get("name"), a.Form.Get("key"))
		if err != nil {
			return nil, err
		}
		revoked = len(e.Hashes)
		return e, nil
	})
	return words.Counted(revoked, "key") + " revoked", err
}

// adminRotateKeys signs offers with a new key from now on. Tokens signed before stay good for as long as
// they live. The line comes before the key is used, and after there is room for it: no key is rotated
// without a line, and on a full disk no line speaks of a key that there is not.
func (s *Executor) adminRotateKeys(a *Act) (string, error) {
	s.acting.Lock()
	defer s.acting.Unlock()
	now, err := s.Now()
	if err != nil {
		return "", err
	}
	// Offers that are still good were signed with the former key, which stays for as long.
	ring := s.Ring.Load().Rotated(s.Config.Random, now, now.Add(-web.OfferLife))
	said := "offers are signed with a new key"
	err = s.SaveRing(ring, func() error {
		err := s.administer(a.By, func(ledger.State, time.Time) (ledger.Event, error) {
			return new(ledger.KeysRotated), nil
		})
		if errors.Is(err, live.ErrDoubt) { // the line is in the journal, and the key is to be as it says
			said += "; whether the second machine has the line of that is not known"
			err = nil
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("the new key could not be written and the previous one stays; rotate "+
			"again: %w", err)
	}
	return said, nil
}

// AddUser grants a person access to a company, and reports whether it made the user. Where the e-mail address
// has an account already, names and password are left as they are. Address and role were checked.
func (s *Executor) AddUser(p auth.Person, password, slug string, role auth.Role) (made bool, err error) {
	return s.addUser(Self(), p, password, slug, role, nil)
}

// addUser gives a person an access, and an account where there is none for the e-mail. made reports whether
// there was none.
func (s *Executor) addUser(by ledger.By, p auth.Person, password, slug string, role auth.Role,
	link *auth.Linked) (made bool, err error) {
	of, err := s.CompanyBySlug(slug)
	if err != nil {
		return false, err
	}
	p.Salt = s.NewID()
	if link != nil {
		link.Salt = p.Salt
	}
	if password != "" {
		p.Password = auth.NewPassword(s.Config.Random, password) // not under the lock: it takes long
	}
	err = s.administer(by, func(st ledger.State, _ time.Time) (ledger.Event, error) {
		e, err := st.Accounts.Add(s.NewID(), p, auth.Access{
			Company: web.CompanyOf(of),
			Role:    role,
		}, link)
		if err != nil {
			return nil, err
		}
		// One who has an account keeps it as it is; only a new one needs all of this. Who runs the verb
		// cannot know which it is, so that it is checked here and not with the form.
		good := password != "" && utf8.ValidString(password) && !web.HasControl(password)
		_, made = e.(*auth.UserAdded)
		if made && !(good && web.ValidName(p.FirstName) && web.ValidName(p.LastName)) {
			return nil, errors.New("a new user needs a first name and a last name of 1 to 100 " +
				"characters without control characters, and a password on the first line of standard input")
		}
		return e, nil
	})
	return made, err
}

// adminUserAdd gives a person an access to a company.
func (s *Executor) adminUserAdd(a *Act) (string, error) {
	form := a.Form
	role := auth.Role(form.Get("role"))
	p := auth.Person{
		Email:     form.Get("email"),
		FirstName: form.Get("first-name"),
		LastName:  form.Get("last-name"),
	}
	var link *auth.Linked
	if subject := form.Get("idp-subject"); subject != "" {
		link = &auth.Linked{Issuer: s.issuerOf(form), Subject: auth.HashOf(subject)}
	}
	made, err := s.addUser(a.By, p, form.Get("password"), form.Get("company"), role, link)
	said := fmt.Sprintf("%s is %s of %s", p.Email, role, form.Get("company"))
	if link != nil {
		said += ", and is linked to the subject of " + cmp.Or(link.Issuer,
			"the first provider that vouches for it; until then a former subject stays good")
	}
	if !made {
		said += "; name and password are as they were"
	}
	return said, err
}

// issuerOf returns the issuer of a subject that is linked by hand: the one that is given, or else the
// provider's that the server trusts by its -idp flags; "" where that is not known yet.
func (s *Executor) issuerOf(form url.Values) string {
	issuer := form.Get("idp-issuer")
	if issuer != "" || s.identity.Key != nil || s.identity.Client == nil {
		return issuer
	}
	return s.identity.Issuer()
}

// adminUserRemove removes a user, whose sessions end at once.
func (s *Executor) adminUserRemove(a *Act) (string, error) {
	err := s.administer(a.By, func(st ledger.State, _ time.Time) (ledger.Event, error) {
		return st.Accounts.Remove(a.Form.Get("email"))
	})
	return "removed; the user's sessions have ended", err
}

// SignWithin is how long an auditor's command waits for the server and its witnesses to sign.
const SignWithin = 3 * time.Second

// adminSign has the lines signed that there are, before somebody audits them: a server signs up to a second
// after a line, and its witnesses up to a minute.
func (s *Executor) adminSign(*Act) (string, error) {
	return "", s.witness.SignNow(SignWithin)
}

// adminIDToken mints an ID token of the development provider.
func (s *Executor) adminIDToken(a *Act) (string, error) {
	switch {
	case s.identity.Client == nil:
		return "", errors.New("there is no key that signs ID tokens: the directory was never served; " +
			"waybill serve makes the key")
	case s.identity.Key == nil:
		return "", errors.New("the server trusts the identity provider of its -idp flags, not the " +
			"built-in provider")
	}
	now, err := s.Now()
	return oidc.Mint(s.identity.Key, a.Form.Get("email"), now), err
}
