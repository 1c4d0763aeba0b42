package main

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stage 8: users of a company sign in, order reports, and turn the geolocation of buses on and off.

const (
	issuer, audience = "urn:waybill:development", "waybill" // of ID tokens
	accessLifetime   = 15 * time.Minute
	sessionLifetime  = 30 * 24 * time.Hour
	reportLifetime   = 7 * 24 * time.Hour
	linkLifetime     = 10 * time.Minute
	longestReport    = 366 * 24 * time.Hour // Limits: report date range
)

// A User signs in for a company. Of the password only a hash is kept.
type User struct {
	email, salt string
	password    []byte
	company     row
}

func hashPassword(password, salt string) []byte {
	hash, _ := pbkdf2.Key(sha256.New, password, []byte(salt), 1000, sha256.Size)
	return hash
}

// An IDToken is what an identity provider says of a user. Here the server is its own provider.
type IDToken struct {
	Iss, Aud, Email string
	Exp             int64
}

// preLogin is POST /v2/auth/pre-login. A wrong e-mail costs and reads as a wrong password.
func (s *Server) preLogin(r *Request) answer {
	var body struct{ Email, Password string }
	r.body(&body)
	r.want(isEmail(body.Email), "email", "is no e-mail address")
	r.want(body.Password != "", "password", "is required")
	r.check()
	isRight := hmac.Equal(hashPassword(body.Password, s.user.salt), s.user.password)
	refuseIf(!isRight || body.Email != s.user.email, unauthorized)
	return ok(200, s.user.view())
}

// view is the User and the Accesses of Login payloads.
func (u *User) view() object {
	c := u.company
	company := object{"id": c["agency_id"], "name": c["agency_name"], "slug": c["waybill_slug"],
		"tier": c["waybill_tier"]}
	access := object{"contextType": "COMPANY", "companyId": c["agency_id"], "partnerId": nil, "role": "ADMIN",
		"company": company}
	user := object{"id": u.email, "email": u.email, "firstName": "Demo", "lastName": "User"}
	return object{"user": user, "availableAccesses": []object{access}}
}

// login is POST /v2/auth/idp/login. The ID token has to be signed, made out to us, and good now. It opens a
// session, whose tokens are cookies that no script sees.
func (s *Server) login(r *Request) answer {
	var body struct{ IDToken, CompanyID *string }
	r.body(&body)
	r.want(body.IDToken != nil, "idToken", "is required")
	r.check()
	token := IDToken{}
	isOurs := s.isSigned(*body.IDToken, &token) && token.Iss == issuer && token.Aud == audience
	refuseIf(!isOurs || token.Exp <= r.now.Unix() || token.Email != s.user.email, unauthorized)
	refuseIf(body.CompanyID != nil && *body.CompanyID != s.user.company["agency_id"], forbidden)
	s.openSession(r, rand.Text())
	view := s.user.view()
	view["access"] = view["availableAccesses"].([]object)[0]
	view["session"] = object{
		"id": rand.Text(), "contextType": "COMPANY", "userId": s.user.email,
		"companyId": s.user.company["agency_id"], "expiresAt": utc(r.now.Add(sessionLifetime)),
		"lastUsedAt": utc(r.now), "revokedAt": nil,
	}
	return ok(200, view)
}

// openSession sets both tokens as HTTP-only cookies, whose names are not shown. None refreshes a session here.
func (s *Server) openSession(r *Request, access string) {
	s.sessions[access] = r.now
	for name, value := range map[string]string{"waybill_access": access, "waybill_refresh": rand.Text()} {
		r.header.Add("Set-Cookie", name+"="+value+"; Path=/; HttpOnly; SameSite=Lax")
	}
}

// needsSession finds the session by its cookie (Authentication, 3).
func (s *Server) needsSession(r *Request) {
	cookie, err := r.Cookie("waybill_access")
	refuseIf(err != nil, unauthorized)
	refuseIf(!r.now.Before(s.sessions[cookie.Value].Add(accessLifetime)), unauthorized)
}

// A Report is Completed as soon as it has been ordered (States and transitions, Report).
type Report struct {
	id, orderBy         string
	created, start, end time.Time
	downloaded          any // when, or nil
	file                []byte
}

// orderReport is POST /v2/reports/company/orders.
func (s *Server) orderReport(r *Request) answer {
	body := struct {
		StartDate, EndDate time.Time
		OrderBy            string
	}{OrderBy: "DepartureDate"}
	r.body(&body)
	length := body.EndDate.Sub(body.StartDate)
	r.want(!body.StartDate.IsZero(), "startDate", "is required")
	r.want(!body.EndDate.IsZero(), "endDate", "is required")
	r.want(0 <= length && length <= longestReport, "endDate", "is before startDate, or over 366 days later")
	r.want(slices.Contains([]string{"CreatedAt", "DepartureDate"}, body.OrderBy), "orderBy", "is no order")
	r.check()
	report := &Report{rand.Text(), body.OrderBy, r.now, body.StartDate, body.EndDate, nil, nil}
	report.file = s.ordersFile(report)
	s.reports = slices.Insert(s.reports, 0, report)
	view := reportView(report)
	view["status"], view["expiresAt"] = "Queued", nil
	return ok(202, object{"report": view})
}

// listReports is GET /v2/reports/company/orders.
func (s *Server) listReports(r *Request) answer { return listed(r, "reports", s.reports, reportView) }

// reportView is a Report.
func reportView(report *Report) object {
	return object{"id": report.id, "status": "Completed", "orderBy": report.orderBy,
		"startDate": utc(report.start), "endDate": utc(report.end), "createdAt": utc(report.created),
		"expiresAt": utc(report.created.Add(reportLifetime)), "downloadedAt": report.downloaded}
}

// A Link is what the URL of a file holds: a report, until an instant.
type Link struct {
	Report  string
	Expires time.Time
}

// linkReport is GET /v2/reports/company/orders/{id}/download.
func (s *Server) linkReport(r *Request) answer {
	report := s.report(r.PathValue("id"), r.now)
	expires := r.now.Add(linkLifetime)
	url := "http://" + r.Host + "/v2/reports/files/" + s.sign(Link{report.id, expires})
	return ok(200, object{"url": url, "expiresAt": utc(expires)})
}

// downloadReport is where the URL leads: whoever has it needs no session.
func (s *Server) downloadReport(r *Request) answer {
	link := Link{}
	isGood := s.isSigned(r.PathValue("token"), &link) && r.now.Before(link.Expires)
	refuseIf(!isGood, notFound)
	report := s.report(link.Report, r.now)
	report.downloaded = cmp.Or(report.downloaded, any(utc(r.now)))
	r.header.Set("Content-Type", "text/csv; charset=utf-8")
	return answer{200, report.file}
}

// report is one that has not expired.
func (s *Server) report(id string, now time.Time) *Report {
	return find(s.reports, func(r *Report) bool {
		return r.id == id && now.Before(r.created.Add(reportLifetime))
	})
}

// columns are those of the CSV of a report, whose form is not shown. A line is an order.
var columns = strings.Split("orderId,bookingId,createdAt,departureUtc,route,seat,firstName,lastName,email,"+
	"price,refundAmount,currency,status,paymentStatus,source,partner", ",")

// ordersFile writes the company's orders of the range, both ends included, sorted by what the range is of.
func (s *Server) ordersFile(report *Report) []byte {
	column := map[string]string{"CreatedAt": "createdAt", "DepartureDate": "departureUtc"}[report.orderBy]
	orders := []row{}
	for _, ticket := range s.tickets {
		order := ticket.ofCompany(s.user.company, report.created)
		if order != nil && utc(report.start) <= order[column] && order[column] <= utc(report.end) {
			orders = append(orders, order)
		}
	}
	slices.SortFunc(orders, func(a, b row) int { return strings.Compare(a[column], b[column]) })
	file := bytes.Buffer{}
	writer := csv.NewWriter(&file)
	writer.Write(columns)
	for _, order := range orders {
		writer.Write(order.cells(columns...))
	}
	writer.Flush()
	return file.Bytes()
}

// ofCompany is what a company sees of a ticket, of its own rides alone, or nil.
func (t *Ticket) ofCompany(company row, now time.Time) row {
	own := where(t.rides, func(ride Ride) bool {
		return ride.trip().company()["agency_id"] == company["agency_id"]
	})
	if own == nil {
		return nil
	}
	seats, price, refund := []string{}, 0, 0
	for _, ride := range own {
		seats = append(seats, strconv.Itoa(ride.seat))
		price, refund = price+ride.price, refund+ride.refund
	}
	return row{
		"orderId": t.id, "bookingId": t.Booking.id, "createdAt": utc(t.created),
		"departureUtc": utc(own[0].departure()), "route": own[0].trip().routeName(""),
		"seat": strings.Join(seats, " "), "firstName": defused(t.passenger.FirstName),
		"lastName": defused(t.passenger.LastName), "email": defused(t.passenger.Email),
		"price": fmt.Sprintf("%.2f", money(price)), "refundAmount": fmt.Sprintf("%.2f", money(refund)),
		"currency": t.currency, "status": statuses[t.phaseAt(now)], "paymentStatus": string(t.payment),
		"source": own[0].source(), "partner": t.partner.name,
	}
}

// defused keeps a spreadsheet from running a text as a formula.
func defused(text string) string {
	if strings.HasPrefix(text, "=") || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") || strings.HasPrefix(text, "@") {
		return "'" + text
	}
	return text
}

// setGeolocation is PATCH /v2/geolocation/fms-objects/{fmsObjectId}, of a bus of the session's company.
func (s *Server) setGeolocation(r *Request) answer {
	bus := feed.fmsObjects[r.PathValue("id")]
	refuseIf(bus == nil || bus["agency_id"] != s.user.company["agency_id"], notFound)
	var body struct{ IsGeolocation *bool }
	r.body(&body)
	r.want(body.IsGeolocation != nil, "isGeolocation", "is required")
	r.check()
	bus["is_geolocation"] = strconv.FormatBool(*body.IsGeolocation)
	return ok(200, object{"fmsObject": object{"id": bus["fms_object_id"], "busId": bus["bus_id"],
		"isGeolocation": *body.IsGeolocation}})
}
