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
	"time"
)

// Stage 8: users of a company sign in, order reports, and turn the geolocation of buses on and off.

const (
	accessLifetime  = 15 * time.Minute
	sessionLifetime = 30 * 24 * time.Hour
	reportLifetime  = 7 * 24 * time.Hour
	linkLifetime    = 10 * time.Minute
	longestReport   = 366 * 24 * time.Hour // Limits: report date range
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

func preLogin(r *Request) answer {
	var body struct{ Email, Password string }
	r.body(&body)
	r.want(isEmail(body.Email), "email", "is not an e-mail address")
	r.want(body.Password != "", "password", "is required")
	r.check()
	isRight := hmac.Equal(hashPassword(body.Password, r.user.salt), r.user.password)
	refuseIf(!isRight || body.Email != r.user.email, unauthorized)
	return ok(r.user.view())
}

// view is the User and the Accesses of Login payloads.
func (u *User) view() object {
	id := u.company["agency_id"]
	company := object{"id": id, "name": u.company["agency_name"], "slug": u.company["waybill_slug"],
		"tier": u.company["waybill_tier"]}
	access := object{"contextType": "COMPANY", "companyId": id, "partnerId": nil, "role": "ADMIN",
		"company": company}
	user := object{"id": u.email, "email": u.email, "firstName": "Demo", "lastName": "User"}
	return object{"user": user, "availableAccesses": []object{access}}
}

// login opens a session for a good ID token: here the server is the identity provider, too. The session's own
// tokens are cookies that no script sees (Authentication, 4).
func login(r *Request) answer {
	body, company := struct{ IDToken, CompanyID *string }{}, r.user.company["agency_id"]
	r.body(&body)
	r.want(body.IDToken != nil, "idToken", "is required")
	r.check()
	token := r.read(*body.IDToken)
	isGood := token.Kind == serviceItself && token.For == r.user.email && !r.isOver(token)
	refuseIf(!isGood, unauthorized)
	refuseIf(body.CompanyID != nil && *body.CompanyID != company, forbidden)
	access := rand.Text()
	r.sessions[access] = r.now
	for name, value := range map[string]string{"waybill_access": access, "waybill_refresh": rand.Text()} {
		r.header.Add("Set-Cookie", name+"="+value+"; Path=/; HttpOnly; SameSite=Lax")
	}
	view := r.user.view()
	view["access"] = view["availableAccesses"].([]object)[0]
	view["session"] = object{
		"id": rand.Text(), "contextType": "COMPANY", "companyId": company, "userId": r.user.email,
		"expiresAt": utc(r.now.Add(sessionLifetime)), "lastUsedAt": utc(r.now), "revokedAt": nil,
	}
	return ok(view)
}

// needsSession finds the session by its cookie (Authentication, 3).
func needsSession(r *Request) {
	cookie, err := r.Cookie("waybill_access")
	refuseIf(err != nil || !r.now.Before(r.sessions[cookie.Value].Add(accessLifetime)), unauthorized)
}

// A Report is Completed as soon as it has been ordered (States and transitions, Report).
type Report struct {
	id, orderBy         string
	created, start, end time.Time
	downloaded          any // when, or nil
	file                []byte
}

func orderReport(r *Request) answer {
	body := struct {
		StartDate, EndDate time.Time
		OrderBy            string
	}{OrderBy: "DepartureDate"}
	r.body(&body)
	length := body.EndDate.Sub(body.StartDate)
	r.want(!body.StartDate.IsZero() && !body.EndDate.IsZero(), "endDate", "is required, like startDate")
	r.want(0 <= length && length <= longestReport, "endDate", "is before startDate, or over 366 days later")
	r.want(slices.Contains([]string{"CreatedAt", "DepartureDate"}, body.OrderBy), "orderBy", "is not an "+
		"order")
	r.check()
	report := &Report{rand.Text(), body.OrderBy, r.now, body.StartDate, body.EndDate, nil, nil}
	report.file = r.ordersFile(report)
	r.reports = slices.Insert(r.reports, 0, report)
	view := reportView(report)
	view["status"], view["expiresAt"] = "Queued", nil
	return answer{202, object{"data": object{"report": view}}}
}

func listReports(r *Request) answer { return listed(r, "reports", r.reports, reportView) }

func reportView(report *Report) object {
	return object{"id": report.id, "status": "Completed", "orderBy": report.orderBy,
		"startDate": utc(report.start), "endDate": utc(report.end), "createdAt": utc(report.created),
		"expiresAt": utc(report.created.Add(reportLifetime)), "downloadedAt": report.downloaded}
}

func linkReport(r *Request) answer {
	link, expires := Token{Kind: "report", For: r.report(r.PathValue("id")).id}, r.now.Add(linkLifetime)
	url := "http://" + r.Host + "/v2/reports/files/" + r.sign(link, expires)
	return ok(object{"url": url, "expiresAt": utc(expires)})
}

// downloadReport is where the URL leads: whoever has it needs no session.
func downloadReport(r *Request) answer {
	link := r.read(r.PathValue("token"))
	refuseIf(link.Kind != "report" || r.isOver(link), notFound)
	report := r.report(link.For)
	report.downloaded = cmp.Or(report.downloaded, any(utc(r.now)))
	r.header.Set("Content-Type", "text/csv; charset=utf-8")
	return answer{200, report.file}
}

// report is one that has not expired.
func (r *Request) report(id string) *Report {
	return find(r.reports, func(report *Report) bool {
		return report.id == id && r.now.Before(report.created.Add(reportLifetime))
	})
}

// ordersFile writes the company's orders of the range, both ends included, sorted by what the range is of. A
// line is a ride. Which columns there are the interface does not show.
func (r *Request) ordersFile(report *Report) []byte {
	lines := [][]string{}
	for _, t := range r.tickets {
		for _, ride := range t.rides {
			at := map[string]time.Time{"CreatedAt": t.created, "DepartureDate": ride.departure()}[report.orderBy]
			isOwn := ride.trip().company["agency_id"] == r.user.company["agency_id"]
			if isOwn && !at.Before(report.start) && !at.After(report.end) {
				lines = append(lines, []string{utc(at), t.id, t.Booking.id, ride.trip().routeName(""),
					fmt.Sprint(ride.seat), t.passenger.FirstName, t.passenger.LastName, t.currency,
					fmt.Sprint(money(ride.price)), fmt.Sprint(money(ride.refund)), statuses[r.phase(t)]})
			}
		}
	}
	slices.SortFunc(lines, slices.Compare)
	file := bytes.NewBufferString(report.orderBy +
		",orderId,bookingId,route,seat,firstName,lastName,currency,price,refundAmount,status\n")
	csv.NewWriter(file).WriteAll(lines)
	return file.Bytes()
}

func setGeolocation(r *Request) answer {
	bus, body := feed.fmsObjects[r.PathValue("id")], struct{ IsGeolocation *bool }{}
	refuseIf(bus == nil || bus["agency_id"] != r.user.company["agency_id"], notFound)
	r.body(&body)
	r.want(body.IsGeolocation != nil, "isGeolocation", "is required")
	r.check()
	bus["is_geolocation"] = fmt.Sprint(*body.IsGeolocation)
	view := object{"id": bus["fms_object_id"], "busId": bus["bus_id"], "isGeolocation": *body.IsGeolocation}
	return ok(object{"fmsObject": view})
}
