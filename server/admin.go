package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
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

// adminOps are what the command line's verbs do to a directory. A verb calls them through the running server's
// socket, or opens the directory itself. Each takes a form in which CheckForm found nothing wrong, and gives, or
// writes, what the verb prints; its error is the verb's.
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
}

// CheckForm finds what the form of an admin operation alone shows wrong. Its
// fields have the names of the verb's operands and flags.
func CheckForm(op string, form url.Values) error {
	_, isTicket := booking.ParseID(form.Get("ticket"))
	_, isBooking := booking.ParseID(form.Get("booking"))
	_, isStatus := booking.ParseCarrier(form.Get("status"))
	_, isFare := gtfs.ParseFarePerKm(form.Get("fare-per-km"))
	_, role := auth.ParseRole(form.Get("role"))
	isEmail := ValidEmail(form.Get("email"))
	_, since := ParseLegacySince(form.Get("legacy-since"))
	switch {
	case since != nil:
		return since
	case strings.HasPrefix(op, "ticket-") && !isTicket:
		return fmt.Errorf("%q is not a ticket's id", form.Get("ticket"))
	case op == "ticket-move" && !isBooking && form.Get("booking") != "new":
		return fmt.Errorf("%q is neither a booking's id nor the word new", form.Get("booking"))
	case op == "ticket-status" && !isStatus:
		return fmt.Errorf("%q is not one of Confirmed, NotConfirmed, Prepaid", form.Get("status"))
	case form.Has("fare-per-km") && !isFare:
		return fmt.Errorf("-fare-per-km %q is not a currency and a price as in EUR:0.06", form.Get("fare-per-km"))
	case op == "partner-add" && form.Get("name") == "":
		return errors.New("a partner has a name")
	case op == "user-add" && role != nil:
		return fmt.Errorf("-role: %w", role)
	case op == "user-add" && form.Get("company") == "":
		return errors.New("-company must be given")
	case op == "forget" && form.Has("booking") == form.Has("email"):
		return errors.New("one of -booking and -email must be given")
	case op == "forget" && form.Has("booking") && !isBooking:
		return fmt.Errorf("%q is not a booking's id", form.Get("booking"))
	case op == "forget" && strings.TrimSpace(form.Get("reason")) == "":
		return errors.New("-reason must be given")
	case (op == "user-add" || op == "idtoken" || op == "forget" && form.Has("email")) && !isEmail:
		return fmt.Errorf("-email %q is not an e-mail address", form.Get("email"))
	}
	return nil
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

// AdminHandler serves the admin operations: POST /<operation> with a form. It
// is for a socket that only the directory's owner can reach.
func (s *Server) AdminHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	tt := s.timetable.Load()
	for slug := range strings.SplitSeq(form.Get("company"), ",") {
		if slug = strings.TrimSpace(slug); slug == "" {
			continue
		}
		if _, err := companyBySlug(tt, slug); err != nil {
			return "", err
		}
		slugs = append(slugs, slug)
	}
	return s.AddPartner(form.Get("name"), slugs)
}

func companyBySlug(tt *schedule.Timetable, slug string) (*schedule.Company, error) {
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
	deprecated := s.deprecated
	if since, _ := ParseLegacySince(form.Get("legacy-since")); !since.IsZero() {
		deprecated = since
	}
	var partners []*auth.Partner
	var out strings.Builder
	if err := s.st.View(func(st *State, _ time.Time) { partners = st.Partners.All() }); err != nil {
		return "", err
	}
	for _, p := range partners {
		companies := "all companies"
		if len(p.Companies) > 0 {
			companies = "only " + strings.Join(p.Companies, ",")
		}
		fmt.Fprintf(&out, "%s  %s  since %s  %s\n", p.ID, p.Name, p.Created.Format(time.DateOnly), companies)
		last := "no legacy call"
		if at := p.LastLegacy(); !at.IsZero() {
			last = "last legacy call " + at.Format(time.RFC3339)
		}
		fmt.Fprintf(&out, "  %s  gone for it from %s\n", last, p.LegacyUntil(deprecated).UTC().Format(time.RFC3339))
		for _, k := range p.Keys {
			state := "valid"
			if !k.Revoked.IsZero() {
				state = "revoked " + k.Revoked.Format(time.RFC3339)
			}
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
	var to *booking.ID
	if id, ok := booking.ParseID(form.Get("booking")); ok {
		to = &id
	}
	var moved *booking.Moved
	_, err := s.do(func(st *State, _ time.Time) (_ Event, err error) {
		moved, err = st.Bookings.Move(ticket, to, s.newID())
		return moved, err
	})
	if err != nil {
		return "", err
	}
	return moved.To.String(), nil
}

func (s *Server) adminTicketStatus(form url.Values, _ io.Writer) (string, error) {
	ticket, _ := booking.ParseID(form.Get("ticket"))
	status, _ := booking.ParseCarrier(form.Get("status"))
	_, err := s.do(func(st *State, now time.Time) (Event, error) {
		return st.Bookings.SetCarrier(now, ticket, status)
	})
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

// NewUser is a person to be given an access, whose e-mail address and role were checked. Of one who
// has an account already, no name or password counts.
type NewUser struct {
	Email, FirstName, LastName, Password string
	Company                              string // its slug
	Role                                 auth.Role
}

// AddUser gives a person an access, and tells whether it made the user.
func (s *Server) AddUser(n NewUser) (made bool, err error) {
	company, err := companyBySlug(s.timetable.Load(), n.Company)
	if err != nil {
		return false, err
	}
	p := auth.Person{Salt: auth.ID(s.newID()), Email: n.Email, FirstName: n.FirstName, LastName: n.LastName}
	if n.Password != "" {
		p.Password = auth.NewPassword(n.Password) // not under the lock: it takes long
	}
	_, err = s.do(func(st *State, _ time.Time) (Event, error) {
		e := st.Accounts.Add(auth.ID(s.newID()), p, auth.Access{Company: companyOf(company), Role: n.Role})
		password := n.Password != "" && utf8.ValidString(n.Password) && !hasControl(n.Password)
		if _, made = e.(*auth.UserAdded); made && !(validName(n.FirstName) && validName(n.LastName) && password) {
			return nil, errors.New("a new user has a first name and a last name of 1 to 100 characters, and a password, the first line of standard input; neither has control characters")
		}
		return e, nil
	})
	return made, err
}

func (s *Server) adminUserAdd(form url.Values, _ io.Writer) (string, error) {
	role := auth.Role(form.Get("role"))
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
