package main

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stage 8: users of a company sign in, order reports, and turn the geolocation of buses on and off.

const (
	issuer, audience                = "urn:waybill:development", "waybill" // of ID tokens
	leeway                          = time.Minute                          // of their times
	accessLifetime, sessionLifetime = 15 * time.Minute, 30 * 24 * time.Hour
	reportLifetime                  = 7 * 24 * time.Hour
	longestReport                   = 366 * 24 * time.Hour // Limits: report date range
)

// A User signs in for a company. Of the password only a hash is kept.
type User struct {
	id, email, salt string
	password        []byte
	company         row
}

// A Report is Completed as soon as it has been ordered. How it is downloaded the interface does not show.
type Report struct {
	id, orderBy         string
	created, start, end time.Time
}

func hashPassword(password, salt string) []byte {
	hash, _ := pbkdf2.Key(sha256.New, password, []byte(salt), 1000, sha256.Size)
	return hash
}

// emailOf reads who shows an ID token, which has to be signed, made out to us, and good now.
func (s *Server) emailOf(token string, now time.Time) string {
	var claims struct {
		Iss, Aud, Email string
		Verified        bool `json:"email_verified"`
		Iat, Exp        int64
	}
	good := s.isSigned(token, &claims) && claims.Iss == issuer && claims.Aud == audience && claims.Verified &&
		now.Before(time.Unix(claims.Exp, 0).Add(leeway)) && !now.Before(time.Unix(claims.Iat, 0).Add(-leeway))
	refuseIf(!good, unauthorized)
	return claims.Email
}

// login opens a session, whose tokens are cookies that no script sees.
func (s *Server) login(r *Request) answer {
	var body struct{ IDToken, CompanyID *string }
	r.body(true, &body)
	r.want(body.IDToken != nil, "idToken", "is required")
	r.want(body.CompanyID == nil || *body.CompanyID != "", "companyId", "is empty")
	r.check()
	refuseIf(!strings.EqualFold(s.emailOf(*body.IDToken, r.now), s.user.email), unauthorized)
	refuseIf(body.CompanyID != nil && *body.CompanyID != s.user.company["agency_id"], forbidden)
	access := rand.Text()
	s.sessions[access] = r.now
	for _, cookie := range []http.Cookie{
		{Name: "waybill_access", Value: access, Path: "/", MaxAge: int(accessLifetime.Seconds())},
		{Name: "waybill_refresh", Value: rand.Text(), Path: "/v2/auth", MaxAge: int(sessionLifetime.Seconds())},
	} {
		cookie.HttpOnly, cookie.SameSite = true, http.SameSiteLaxMode
		r.header.Add("Set-Cookie", cookie.String())
	}
	view := s.user.view()
	view["access"] = view["availableAccesses"].([]object)[0]
	view["session"] = object{"id": rand.Text(), "contextType": "COMPANY", "userId": s.user.id,
		"companyId": s.user.company["agency_id"], "expiresAt": utc(r.now.Add(sessionLifetime)),
		"lastUsedAt": utc(r.now), "revokedAt": nil}
	return ok(200, view)
}

// preLogin checks a password. A wrong e-mail costs and reads as a wrong password.
func (s *Server) preLogin(r *Request) answer {
	var body struct{ Email, Password string }
	r.body(true, &body)
	r.want(isEmail(body.Email), "email", "is no e-mail address")
	r.want(body.Password != "", "password", "is required")
	r.check()
	isRight := hmac.Equal(hashPassword(body.Password, s.user.salt), s.user.password)
	refuseIf(!isRight || !strings.EqualFold(body.Email, s.user.email), unauthorized)
	return ok(200, s.user.view())
}

// view is who a user is, and what the user may do for whom.
func (u *User) view() object {
	c := u.company
	access := object{"contextType": "COMPANY", "companyId": c["agency_id"], "partnerId": nil, "role": "ADMIN",
		"company": object{"id": c["agency_id"], "name": c["agency_name"], "slug": c["waybill_slug"],
			"tier": c["waybill_tier"]}}
	user := object{"id": u.id, "email": u.email, "firstName": "Demo", "lastName": "User"}
	return object{"user": user, "availableAccesses": []object{access}}
}

// needsSession finds the session by its cookie (Authentication, 3).
func (s *Server) needsSession(r *Request) {
	cookie, err := r.Cookie("waybill_access")
	refuseIf(err != nil, unauthorized)
	refuseIf(!r.now.Before(s.sessions[cookie.Value].Add(accessLifetime)), unauthorized)
}

func (s *Server) orderReport(r *Request) answer {
	body := struct {
		StartDate, EndDate time.Time
		OrderBy            string
	}{OrderBy: "DepartureDate"}
	r.body(true, &body)
	length := body.EndDate.Sub(body.StartDate)
	r.want(!body.StartDate.IsZero(), "startDate", "is required")
	r.want(!body.EndDate.IsZero(), "endDate", "is required")
	r.want(0 <= length && length <= longestReport, "endDate", "is before startDate, or more than 366 days later")
	r.want(slices.Contains([]string{"CreatedAt", "DepartureDate"}, body.OrderBy), "orderBy", "is no order")
	r.check()
	report := &Report{rand.Text(), body.OrderBy, r.now, body.StartDate, body.EndDate}
	s.reports = slices.Insert(s.reports, 0, report)
	view := reportView(report)
	view["status"], view["expiresAt"] = "Queued", nil
	return ok(202, object{"report": view})
}

func (s *Server) listReports(r *Request) answer { return listed(r, "reports", s.reports, reportView) }

func reportView(report *Report) object {
	return object{"id": report.id, "status": "Completed", "orderBy": report.orderBy, "downloadedAt": nil,
		"startDate": utc(report.start), "endDate": utc(report.end), "createdAt": utc(report.created),
		"expiresAt": utc(report.created.Add(reportLifetime))}
}

// setGeolocation turns the geolocation of a bus of the session's company on or off.
func (s *Server) setGeolocation(r *Request) answer {
	var body struct{ IsGeolocation *bool }
	for _, bus := range feed.buses {
		if bus["fms_object_id"] != r.PathValue("id") || bus["agency_id"] != s.user.company["agency_id"] {
			continue
		}
		r.body(true, &body)
		r.want(body.IsGeolocation != nil, "isGeolocation", "is required")
		r.check()
		bus["is_geolocation"] = strconv.FormatBool(*body.IsGeolocation)
		return ok(200, object{"fmsObject": object{"id": bus["fms_object_id"], "busId": bus["bus_id"],
			"isGeolocation": *body.IsGeolocation}})
	}
	return notFound
}
