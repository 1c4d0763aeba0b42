package admin

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule/gtfs"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/frame/words"
)

// CheckForm returns what the form of an operation alone shows wrong.
func CheckForm(op string, form url.Values) error {
	for name, values := range form {
		if !utf8.ValidString(strings.Join(values, "")) {
			return fmt.Errorf("%s is not valid UTF-8", name)
		}
	}
	if known, ok := operations[op]; ok {
		return known.check(form)
	}
	return nil // Do says that there is no such operation
}

// nothingToCheck is for operations whose forms can say nothing wrong.
func nothingToCheck(url.Values) error { return nil }

// checkImport checks the price that an import is given for what no fare matches.
func checkImport(form url.Values) error {
	fare := form.Get("fare-per-km")
	if _, ok := gtfs.ParseFarePerKm(fare); form.Has("fare-per-km") && !ok {
		return fmt.Errorf("-fare-per-km %q is not a currency and a price as in EUR:0.06", fare)
	}
	return nil
}

// checkPartner checks that a partner must have a name.
func checkPartner(form url.Values) error {
	name := form.Get("name")
	switch {
	case name == "":
		return errors.New("a partner must have a name")
	case strings.TrimSpace(name) != name || strings.ContainsFunc(name, words.Acts):
		return fmt.Errorf("the name %q has blanks around it, or invisible characters", name)
	}
	return nil
}

// checkPartnerList checks the instant from which the legacy interface counts as deprecated.
func checkPartnerList(form url.Values) error {
	_, err := web.ParseLegacySince(form.Get("legacy-since"))
	return err
}

// checkTicket is of all operations on one ticket.
func checkTicket(form url.Values) error {
	ticket := form.Get("ticket")
	if _, ok := ids.Parse(ticket); !ok {
		return fmt.Errorf("%q is not a ticket's id", ticket)
	}
	return nil
}

// checkCancel checks the tickets that are canceled, and why.
func checkCancel(form url.Values) error {
	for ticket := range strings.SplitSeq(form.Get("tickets"), ",") {
		if err := checkTicket(url.Values{"ticket": {ticket}}); err != nil {
			return err
		}
	}
	return checkReason(form)
}

// checkMove checks a ticket, and where it is moved to.
func checkMove(form url.Values) error {
	if err := checkTicket(form); err != nil {
		return err
	}
	to := form.Get("booking")
	if _, ok := ids.Parse(to); !ok && to != "new" {
		return fmt.Errorf("%q is neither a booking's id nor the word new", to)
	}
	return nil
}

// checkStatus checks a ticket, and the status that the carrier gives it.
func checkStatus(form url.Values) error {
	if err := checkTicket(form); err != nil {
		return err
	}
	status := form.Get("status")
	if _, ok := booking.ParseCarrier(status); !ok {
		return fmt.Errorf("%q is not one of Confirmed, NotConfirmed, Prepaid", status)
	}
	return nil
}

// checkAnswer checks the answer that is given in the provider's place, and the reason.
func checkAnswer(form url.Values) error {
	if err := checkTicket(form); err != nil {
		return err
	}
	answer := form.Get("answer")
	if _, ok := verdicts[answer]; !ok {
		return fmt.Errorf("%q is not one of confirmed, refused", answer)
	}
	return checkReason(form)
}

// checkReason is of the operations that an auditor will ask about.
func checkReason(form url.Values) error {
	reason := form.Get("reason")
	switch {
	case strings.TrimSpace(reason) == "":
		return errors.New("-reason must be given")
	case strings.ContainsFunc(reason, words.Acts):
		return errors.New("-reason has a control character")
	case utf8.RuneCountInString(reason) > web.MaxReason:
		return fmt.Errorf("-reason has more than %d characters", web.MaxReason)
	}
	return nil
}

// checkUser checks who is given which access, and the subject that is linked.
func checkUser(form url.Values) error {
	subject := form.Get("idp-subject")
	_, err := auth.ParseRole(form.Get("role"))
	switch {
	case err != nil:
		return fmt.Errorf("-role: %w", err)
	case form.Get("company") == "":
		return errors.New("-company must be given")
	case utf8.RuneCountInString(subject) > auth.MaxSubject:
		return fmt.Errorf("-idp-subject has more than %d characters", auth.MaxSubject)
	case web.HasControl(subject):
		return errors.New("-idp-subject has a control character")
	case form.Has("idp-subject") && subject == "":
		return errors.New("-idp-subject names no subject")
	}
	return checkEmail(form)
}

// checkEmail checks an e-mail address.
func checkEmail(form url.Values) error {
	email := form.Get("email")
	if !web.ValidEmail(email) {
		return fmt.Errorf("-email %q is not an e-mail address", email)
	}
	return nil
}

// checkForget checks whose personal data is erased, and why.
func checkForget(form url.Values) error {
	if form.Has("booking") == form.Has("email") {
		return errors.New("give either -booking or -email")
	}
	sold := form.Get("booking")
	if _, ok := ids.Parse(sold); form.Has("booking") && !ok {
		return fmt.Errorf("%q is not a booking's id", sold)
	}
	if err := checkReason(form); err != nil {
		return err
	}
	if form.Has("email") {
		return checkEmail(form)
	}
	return nil
}
