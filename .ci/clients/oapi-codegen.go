// oapi-codegen: a Go type for each schema, and a method for each operation.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path"
	"time"

	"github.com/oapi-codegen/runtime/types"
)

func main() {
	jar, err := cookiejar.New(nil)
	check(err)
	api, err := NewClientWithResponses(os.Getenv("WAYBILL"), WithHTTPClient(browser{&http.Client{Jar: jar}}))
	check(err)
	ctx := context.Background()
	login, err := api.LoginWithResponse(ctx, nil, IdentityToken{IdToken: os.Getenv("TOKEN")})
	must(err, login.JSON200 != nil, "sign in", login.Body)
	own := login.JSON200.Data.Access.CompanyId
	ticket := travel(ctx, api, own)
	report(ctx, api, ticket)
	fmt.Println("oapi-codegen: signed in, searched, booked, paid, canceled, waited for events, read a report")
}

// travel books and pays a ticket of a company, and cancels it.
func travel(ctx context.Context, api *ClientWithResponses, company Id) (ticket Id) {
	day := types.Date{Time: time.Now().AddDate(0, 0, 3)}
	from, to := "kyiv", "lviv"
	query := &SearchOffersParams{
		DepartureCitySlug: &from,
		ArrivalCitySlug:   &to,
		DepartureDate:     day,
	}
	search, err := api.SearchOffersWithResponse(ctx, query)
	must(err, search.JSON200 != nil, "search", search.Body)
	var offer Offer
	for _, o := range search.JSON200.Data.Offers {
		if offer.Id == "" && o.Slices[0].Route.Company.Id == company {
			offer = o
		}
	}
	email := "lesia@example.com"
	phones := []NewPhone{{Phone: "+380441234567"}}
	passengers := []NewPassenger{
		{FirstName: "Lesia", LastName: "Ukrainka", Email: &email, Phones: &phones},
		{FirstName: "Ivan", LastName: "Franko"},
	}
	order := NewBooking{
		OfferId:    offer.Id,
		Currency:   "UAH",
		Passengers: passengers,
	}
	booked, err := api.CreateBookingWithResponse(ctx, nil, order)
	must(err, booked.JSON201 != nil, "book", booked.Body)
	b := booked.JSON201.Data.Booking
	first := b.Tickets[0]

	subset := Subset{TicketIds: &[]string{first.Id}}
	paid, err := api.PayBookingWithResponse(ctx, b.Id, nil, subset)
	must(err, paid.JSON200 != nil, "pay", paid.Body)
	states := paid.JSON200.Data.Booking.Tickets
	must(nil, states[0].PaymentStatus == "Paid" && states[1].PaymentStatus == "Unpaid", "pay", paid.Body)
	again, err := api.PayBookingWithResponse(ctx, b.Id, nil, subset)
	must(err, again.JSON409 != nil, "pay again", again.Body)
	var e Error = again.JSON409.Errors[0]
	must(nil, *e.ErrorCode == "CONFLICT" && (*e.Details.OrdersIds)[0] == first.Id, "pay again", again.Body)

	one, wait := 1, 20
	known, err := api.ListEventsWithResponse(ctx, &ListEventsParams{Take: &one})
	must(err, known.JSON200 != nil, "events", known.Body)
	news := make(chan *ListEventsResponse)
	go func() {
		after := &ListEventsParams{
			After: &known.JSON200.Data.Total,
			Wait:  &wait,
		}
		answer, err := api.ListEventsWithResponse(ctx, after)
		check(err)
		news <- answer
	}()
	canceled, err := api.CancelBookingWithResponse(ctx, b.Id, nil, Subset{})
	must(err, canceled.JSON200 != nil, "cancel", canceled.Body)
	refund := canceled.JSON200.Data.Booking.Tickets[0].RefundAmount
	must(nil, refund != nil && *refund == first.Price.Amount, "cancel", canceled.Body)
	answer := <-news
	must(nil, answer.JSON200 != nil && answer.JSON200.Data.Events[0].Type == "ticket.refunded", "events",
		answer.Body)
	return first.Id
}

// report orders a report and reads its file, which has the ticket.
func report(ctx context.Context, api *ClientWithResponses, ticket Id) {
	day := NewReport{
		StartDate: time.Now(),
		EndDate:   time.Now().AddDate(0, 0, 5),
	}
	ordered, err := api.OrderReportWithResponse(ctx, nil, day)
	must(err, ordered.JSON202 != nil, "report", ordered.Body)
	download := new(GetReportDownloadResponse)
	for n := 0; n < 100 && download.JSON200 == nil; n++ {
		download, err = api.GetReportDownloadWithResponse(ctx, ordered.JSON202.Data.Report.Id, nil)
		must(err, download.JSON200 != nil || download.JSON409 != nil, "download", download.Body)
		time.Sleep(100 * time.Millisecond)
	}
	must(nil, download.JSON200 != nil, "download", download.Body)
	file, err := api.GetReportFileWithResponse(ctx, path.Base(download.JSON200.Data.Url), nil)
	must(err, bytes.Contains(file.Body, []byte(ticket)), "file", file.Body)
}

// browser sends the key with each request, and takes no answer that the proxy finds fault with.
type browser struct{ *http.Client }

func (b browser) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("x-api-key", os.Getenv("KEY"))
	answer, err := b.Client.Do(r)
	if err == nil && answer.Header.Get("sl-violations") != "" {
		err = fmt.Errorf("%s %s: %s", r.Method, r.URL.Path, answer.Header.Get("sl-violations"))
	}
	return answer, err
}

// must ends the client with what was not as it must be.
func must(err error, ok bool, what string, answer []byte) {
	check(err)
	if !ok {
		log.Fatalf("%s: %s", what, answer)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
