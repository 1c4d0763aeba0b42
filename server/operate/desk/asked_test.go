package desk_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/reach/provider"
)

// try makes a request of the service as the partner, whatever the answer is.
func (o *operator) try(path, body string) (status int) {
	r, err := http.NewRequest("POST", o.service+path, strings.NewReader(body))
	if err != nil {
		o.Error(err)
		return 0
	}
	r.Header.Set("x-api-key", o.key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := new(http.Client).Do(r)
	if err != nil {
		o.Error(err)
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// Decision desk.asked: what a provider is asked about is on Today, in the search and on the page of a booking
// just what `ticket asked` lists. A ticket whose answer did not come or was not understood is not: it has a
// concern of its own, no form that cannot succeed, and none of this once its bus has left.
func TestAskedIsWhatTicketAskedLists(t *testing.T) {
	t.Parallel()
	called := make(chan bool)
	answer := make(chan error)
	o := newOperatorWith(t, server.Config{
		Dir: filepath.Join(t.TempDir(), "d"),
		Confirm: func(context.Context, provider.Confirmation) error {
			called <- true
			return <-answer
		},
	})
	o.enter()
	b := o.book("Ukrainka", "Franko").Data.Booking
	one := `{"ticketIds":["` + b.Tickets[0].ID + `"]}`
	done := make(chan int)
	go func() { done <- o.try("/v2/bookings/"+b.ID+"/pay", one) }()
	<-called
	const asked = "A provider was asked about 1 ticket and has not answered."
	const unclear = "The provider's answer about 1 ticket did not come or was not understood; it may have " +
		"1 ticket sold that is unpaid here. Ask it; the partner can pay again or cancel."
	const form = "Answer in the provider's place"
	o.lacks(o.see("/", asked), unclear)
	o.see("/search?state=asked", "Test Ukrainka", "1 ticket,")
	o.see("/booking?id="+b.ID, form, "was asked to pay, and has not answered")
	if said, err := o.verb("ticket-asked", nil); err != nil ||
		!strings.Contains(said, "1 ticket waits") {
		t.Error(said, err)
	}
	answer <- errors.New("500 Internal Server Error")
	if status := <-done; status != http.StatusInternalServerError {
		t.Errorf("the partner is answered %d", status)
	}
	if said, err := o.verb("ticket-asked", nil); err != nil ||
		!strings.Contains(said, "0 tickets wait") {
		t.Error(said, err)
	}
	o.lacks(o.see("/", unclear, `"/search?state=unclear"`), asked)
	o.lacks(o.see("/search?state=asked", "Nothing was found."), "Ukrainka")
	o.lacks(o.see("/search?state=unclear", "Test Ukrainka", "1 ticket,", "provider's answer unclear"),
		"Franko")
	o.lacks(o.see("/booking?id="+b.ID, "was asked to pay; its answer did not come or was not understood"),
		form, "has not answered")
	o.ask("POST", "/test/clock", `{"advance":"240h"}`, nil) // the bus has left
	o.lacks(o.see("/"), unclear, asked)
	o.see("/search?state=unclear", "Nothing was found.")
	o.lacks(o.see("/booking?id="+b.ID), form, "not understood")
}

// lacks complains about texts that a page must not have.
func (o *operator) lacks(page string, unwanted ...string) {
	o.Helper()
	for _, text := range unwanted {
		if strings.Contains(page, text) {
			o.Errorf("there is %q in\n%s", text, page)
		}
	}
}

// verb does what a verb does, and returns what it prints.
func (o *operator) verb(op string, form url.Values) (string, error) {
	var out strings.Builder
	err := o.front.Server.Admin.Do(op, &admin.Act{By: ledger.By{UID: 1000}, Form: form, Out: &out})
	return out.String(), err
}

// addPartner gives a new partner a key.
func (o *operator) addPartner(name string) {
	o.Helper()
	o.done("partner-add", url.Values{"name": {name}})
}

// done does an act as its verb does it.
func (o *operator) done(op string, form url.Values) {
	o.Helper()
	if said, err := o.verb(op, form); err != nil {
		o.Fatal(op, said, err)
	}
}
