package server

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
	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/gtfs"
)

// adminOps are what the command line's verbs do to a directory, through the running server's socket or by themselves.
// Each takes a form in which CheckForm found nothing wrong, and gives, or writes, what the verb prints.
var adminOps = map[string]func(*Server, url.Values, io.Writer) (string, error){
	"import":         (*Server).adminImport,
	"partner-add":    (*Server).adminPartnerAdd,
	"partner-list":   (*Server).adminPartnerList,
	"partner-revoke": (*Server).adminPartnerRevoke,
	"ticket-move":    (*Server).adminTicketMove,
	"ticket-status":  (*Server).adminTicketStatus,
	"rotate-keys":    (*Server).adminRotateKeys,
	"user-add":       (*Server).adminUserAdd,
	"user-remove":    (*Server).adminUserRemove,
	"idtoken":        (*Server).adminIDToken,
	"forget":         (*Server).adminForget,
	"outbox-list":    (*Server).adminOutboxList,
	"outbox-retry":   (*Server).adminOutboxRetry,
}

// CheckForm finds what the form of an admin operation alone shows wrong. Its fields have the names of the verb's
// operands and flags.
func CheckForm(op string, form url.Values) (err error) {
	wrong := func(is bool, format string, args ...any) {
		if is && err == nil {
			err = fmt.Errorf(format, args...)
		}
	}
	ticket, sold, status, email := form.Get("ticket"), form.Get("booking"), form.Get("status"), form.Get("email")
	fare, isUser, isForget := form.Get("fare-per-km"), op == "user-add", op == "forget"
	_, isTicket := booking.ParseID(ticket)
	_, isBooking := booking.ParseID(sold)
	_, isStatus := booking.ParseCarrier(status)
	_, isFare := gtfs.ParseFarePerKm(fare)
	_, role := auth.ParseRole(form.Get("role"))
	_, err = ParseLegacySince(form.Get("legacy-since"))
	wrong(strings.HasPrefix(op, "ticket-") && !isTicket, "%q is not a ticket's id", ticket)
	wrong(op == "ticket-move" && !isBooking && sold != "new", "%q is neither a booking's id nor the word new", sold)
	wrong(op == "ticket-status" && !isStatus, "%q is not one of Confirmed, NotConfirmed, Prepaid", status)
	wrong(form.Has("fare-per-km") && !isFare, "-fare-per-km %q is not a currency and a price as in EUR:0.06", fare)
	wrong(op == "partner-add" && form.Get("name") == "", "a partner has a name")
	wrong(isUser && role != nil, "-role: %w", role)
	wrong(isUser && form.Get("company") == "", "-company must be given")
	wrong(isForget && form.Has("booking") == form.Has("email"), "one of -booking and -email must be given")
	wrong(isForget && form.Has("booking") && !isBooking, "%q is not a booking's id", sold)
	wrong(isForget && strings.TrimSpace(form.Get("reason")) == "", "-reason must be given")
	hasEmail := isUser || op == "idtoken" || isForget && form.Has("email")
	wrong(hasEmail && !ValidEmail(email), "-email %q is not an e-mail address", email)
	return err
}

// Admin does one of the admin operations.
func (s *Server) Admin(op string, form url.Values, out io.Writer) error {
	do, ok := adminOps[op]
	if !ok {
		return fmt.Errorf("the running server does not know %q; is it of another version?", op)
	}
	if err := CheckForm(op, form); err != nil {
		return err
	}
	said, err := do(s, form, out)
	if err == nil && said != "" {
		_, err = io.WriteString(out, said+"\n")
	}
	return err
}

// AdminError is the trailer that carries an operation's error, query-escaped.
const AdminError = "Waybill-Error"

// AdminHandler serves POST /<operation> with a form, for a socket that only the directory's owner can reach.
// Under /debug/ it shows the process to its owner: profiles, and variables of the runtime.
func (s *Server) AdminHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/debug/") {
			http.DefaultServeMux.ServeHTTP(w, r) // where pprof and expvar are
			return
		}
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
			http.Error(w, "POST a form", http.StatusBadRequest)
			return
		}
		w.Header().Set("Trailer", AdminError)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		if err := s.Admin(strings.TrimPrefix(r.URL.Path, "/"), r.PostForm, w); err != nil {
			w.Header().Set(AdminError, url.QueryEscape(err.Error()))
		}
	})
}

func (s *Server) adminPartnerAdd(form url.Values, _ io.Writer) (string, error) {
	var slugs []string
	for slug := range strings.SplitSeq(form.Get("company"), ",") {
		if slug = strings.TrimSpace(slug); slug != "" {
			if _, err := s.companyBySlug(slug); err != nil {
				return "", err
			}
			slugs = append(slugs, slug)
		}
	}
	return s.AddPartner(form.Get("name"), slugs)
}

func (s *Server) companyBySlug(slug string) (*schedule.Company, error) {
	tt := s.timetable.Load()
	i := slices.IndexFunc(tt.Companies, func(c schedule.Company) bool { return c.Slug == slug })
	if i < 0 {
		return nil, fmt.Errorf("no company of the timetable has the slug %q", slug)
	}
	return &tt.Companies[i], nil
}

// AddPartner gives a partner a new API key, and makes the partner if it is new.
func (s *Server) AddPartner(name string, companies []string) (key string, err error) {
	key, hash := auth.NewKey()
	_, err = s.do(func(st *State, _ time.Time) (Event, error) {
		return st.Partners.AddKey(auth.ID(s.newID()), name, companies, hash)
	})
	return key, err
}

func (s *Server) adminPartnerList(form url.Values, _ io.Writer) (string, error) {
	const shown = 12 // digits of a key's hash, which name it
	since, _ := ParseLegacySince(form.Get("legacy-since"))
	since = cmp.Or(since, s.deprecated)
	var partners []*auth.Partner
	var out strings.Builder
	if err := s.st.View(func(st *State, _ time.Time) { partners = st.Partners.All() }); err != nil {
		return "", err
	}
	when := func(what string, at time.Time, never string) string {
		if at.IsZero() {
			return never
		}
		return what + " " + at.Format(time.RFC3339)
	}
	for _, p := range partners {
		companies := "all companies"
		if len(p.Companies) > 0 {
			companies = "only " + strings.Join(p.Companies, ",")
		}
		fmt.Fprintf(&out, "%s  %s  since %s  %s\n", p.ID, p.Name, p.Created.Format(time.DateOnly), companies)
		last := when("last legacy call", p.LastLegacy(), "no legacy call")
		fmt.Fprintf(&out, "  %s  gone for it from %s\n", last, p.LegacyUntil(since).UTC().Format(time.RFC3339))
		for _, k := range p.Keys {
			state := when("revoked", k.Revoked, "valid")
			fmt.Fprintf(&out, "  key %s  made %s  %s\n", k.Hash.String()[:shown], k.Created.Format(time.RFC3339), state)
		}
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

func (s *Server) adminPartnerRevoke(form url.Values, _ io.Writer) (string, error) {
	var revoked int
	_, err := s.do(func(st *State, _ time.Time) (Event, error) {
		e, err := st.Partners.Revoke(form.Get("name"), form.Get("key"))
		if err == nil {
			revoked = len(e.Hashes)
		}
		return e, err
	})
	return fmt.Sprintf("%d keys revoked", revoked), err
}

func (s *Server) adminTicketMove(form url.Values, _ io.Writer) (string, error) {
	ticket, _ := booking.ParseID(form.Get("ticket"))
	var known *booking.ID
	target := s.newID()
	if id, ok := booking.ParseID(form.Get("booking")); ok {
		known, target = &id, id
	}
	_, err := s.do(func(st *State, _ time.Time) (Event, error) { return st.Bookings.Move(ticket, known, target) })
	return target.String(), err
}

func (s *Server) adminTicketStatus(form url.Values, _ io.Writer) (string, error) {
	ticket, _ := booking.ParseID(form.Get("ticket"))
	status, _ := booking.ParseCarrier(form.Get("status"))
	_, err := s.do(func(st *State, at time.Time) (Event, error) { return st.Bookings.SetCarrier(at, ticket, status) })
	return status.String(), err
}

// adminRotateKeys signs offers with a new key from now on. Tokens signed before stay good for as long as they live.
func (s *Server) adminRotateKeys(_ url.Values, _ io.Writer) (string, error) {
	s.importing.Lock()
	defer s.importing.Unlock()
	now, err := s.Now()
	if err != nil {
		return "", err
	}
	return "offers are signed with a new key", s.saveRing(s.ring.Load().Rotated(now, now.Add(-offerLife)))
}

// AddUser gives a person, by e-mail address and names, an access to a company, and tells whether it made the user: of
// one who has an account already, no name or password counts. Address and role were checked.
func (s *Server) AddUser(p auth.Person, password, slug string, role auth.Role) (made bool, err error) {
	company, err := s.companyBySlug(slug)
	if err != nil {
		return false, err
	}
	p.Salt = auth.ID(s.newID())
	if password != "" {
		p.Password = auth.NewPassword(password) // not under the lock: it takes long
	}
	_, err = s.do(func(st *State, _ time.Time) (Event, error) {
		e := st.Accounts.Add(auth.ID(s.newID()), p, auth.Access{Company: companyOf(company), Role: role})
		good := password != "" && utf8.ValidString(password) && !hasControl(password)
		if _, made = e.(*auth.UserAdded); made && !(good && validName(p.FirstName) && validName(p.LastName)) {
			return nil, errors.New("a new user has a first name and a last name of 1 to 100 characters, and a password, the first line of standard input; neither has control characters")
		}
		return e, nil
	})
	return made, err
}

func (s *Server) adminUserAdd(form url.Values, _ io.Writer) (string, error) {
	role := auth.Role(form.Get("role"))
	p := auth.Person{Email: form.Get("email"), FirstName: form.Get("first-name"), LastName: form.Get("last-name")}
	made, err := s.AddUser(p, form.Get("password"), form.Get("company"), role)
	said := fmt.Sprintf("%s is %s of %s", p.Email, role, form.Get("company"))
	if !made {
		said += "; name and password are as they were"
	}
	return said, err
}

func (s *Server) adminUserRemove(form url.Values, _ io.Writer) (string, error) {
	_, err := s.do(func(st *State, _ time.Time) (Event, error) { return st.Accounts.Remove(form.Get("email")) })
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
