package rig

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/server"
)

// NewBookingID books one seat.
func NewBookingID(t testing.TB, s *server.Server, key string) string {
	t.Helper()
	a := Call(t, s, key, "POST", "/v2/bookings", BookingBody(Offer(t, s, key, Bukovel), 1))
	if a.Status != 201 {
		t.Fatalf("%+v", a)
	}
	return a.Data.Booking.ID
}

// KeyedCall calls with an Idempotency-Key.
func KeyedCall(s *server.Server, key, idempotency, target, body string) *httptest.ResponseRecorder {
	return Ask(s, key, "POST", target, body, "Idempotency-Key: "+idempotency)
}

// Ask sends one request, with a key unless it is "", and with headers, "Name: value".
func Ask(s http.Handler, key, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if key != "" {
		r.Header.Set("x-api-key", key)
	}
	return send(s, r, headers...)
}

// RequestFrom sends a request with headers, "Name: value", from an address.
func RequestFrom(s http.Handler, from, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = from
	return send(s, r, headers...)
}

func send(s http.Handler, r *http.Request, headers ...string) *httptest.ResponseRecorder {
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// Answer is as much of any answer as these tests look at.
type Answer struct {
	Status int
	Data   struct {
		Offers []struct {
			ID     string
			Slices []struct{ Carriage struct{ Name string } }
		}
		Booking struct {
			ID      string
			Tickets []struct {
				ID, Status, PaymentStatus string
				Slices                    []struct {
					Seat  struct{ Label string }
					Route struct{ Name string }
					Stops []struct{ ID string }
				}
			}
		}
		Departures []struct {
			ID        string
			SeatsLeft int
		}
	}
	Errors []struct {
		ErrorCode string
		Details   struct {
			SeatsLeft *int
			OrdersIDs []string
		}
	}
}

// Call sends a request with a key, and reads its answer.
func Call(t testing.TB, s http.Handler, key, method, target, body string) (a Answer) {
	t.Helper()
	w := Ask(s, key, method, target, body)
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Errorf("%s %s: %v: %s", method, target, err, w.Body)
	}
	a.Status = w.Code
	return a
}

// Bukovel is a journey on a bus of three seats.
const Bukovel = "departureCitySlug=ivano-frankivsk&arrivalCitySlug=bukovel"

// Offer returns the first offer of a journey.
func Offer(t testing.TB, s *server.Server, key, query string) string {
	t.Helper()
	a := Call(t, s, key, "GET", "/v2/offers?departureDate=2026-11-25&"+query, "")
	if len(a.Data.Offers) == 0 {
		t.Fatalf("no offer for %s: %+v", query, a)
	}
	return a.Data.Offers[0].ID
}

// BookingBody is the body of a booking for so many passengers.
func BookingBody(offer string, passengers int) string {
	one := `{"firstName":"Lesia","lastName":"Ukrainka"}`
	return fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":[%s]}`, offer,
		strings.Repeat(one+",", passengers-1)+one)
}
