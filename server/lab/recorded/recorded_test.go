package recorded

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unknownParameter is the one line of our own recording that is told: a parameter that nobody knows.
const unknownParameter = "told  GET /v2/cities %s: has a parameter that this program does not know, unknown"

// Decision conform.recorded: what this program answers contradicts nothing, and differs in no row; it is the
// same in a directory and in a HAR.
func TestOurOwnServerAgrees(t *testing.T) {
	pairs := ownPairs(t)
	fromPairs := saidOf(t, writePairs(t, pairs))
	fromHAR := saidOf(t, writeHAR(t, pairs))
	if want := fmt.Sprintf(unknownParameter, "04-cities-country"); fromPairs[0] != want {
		t.Errorf("the first line is %s", fromPairs[0])
	}
	if want := fmt.Sprintf(unknownParameter, "entry 4"); fromHAR[0] != want {
		t.Errorf("the first line of the HAR is %s", fromHAR[0])
	}
	form := regexp.MustCompile(`^(agrees  [a-z.]+  [A-Z]+ /\S* \S+|not seen  [a-z.]+|no recording shows  [a-z., ]+)$`)
	number := regexp.MustCompile(` (\d\d)-\S+$`)
	for i, line := range fromPairs[1:] {
		if !form.MatchString(line) {
			t.Error(line)
		}
		// Entry 4 is the pair 04-….
		entry := number.ReplaceAllStringFunc(line, func(name string) string {
			return " entry " + strings.TrimPrefix(name[1:3], "0")
		})
		if fromHAR[i+1] != entry {
			t.Errorf("the HAR says %s, the directory %s", fromHAR[i+1], line)
		}
	}
}

// writeHAR writes pairs as a browser saves them: some bodies in base64, calls of others between them, and one
// that was never answered.
func writeHAR(t *testing.T, pairs []pair) string {
	t.Helper()
	var entries []any
	for i, p := range pairs {
		first, asked, err := readMessage([]byte(p.request))
		if err != nil {
			t.Fatal(err)
		}
		status, answer, err := readAnswer([]byte(p.response))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(first)
		content := map[string]any{"size": len(answer.body), "text": string(answer.body)}
		if i%2 == 0 {
			content["text"] = base64.StdEncoding.EncodeToString(answer.body)
			content["encoding"] = "base64"
		}
		request := map[string]any{"method": words[0], "url": "https://api.example.com/base" + words[1],
			"headers": harHeaders(asked.header), "bodySize": len(asked.body)}
		if len(asked.body) > 0 {
			media := asked.header.Get("Content-Type")
			request["postData"] = map[string]any{"mimeType": media, "text": string(asked.body)}
		}
		if !strings.HasPrefix(words[1], "/v2/") && !strings.HasPrefix(words[1], "/rest/") {
			request["url"] = "https://api.example.com" + words[1]
		}
		entries = append(entries, map[string]any{"request": request, "response": map[string]any{
			"status": status, "headers": harHeaders(answer.header), "content": content}})
	}
	none := map[string]any{"status": 0, "headers": []any{}, "content": map[string]any{}}
	for _, url := range []string{"https://cdn.example.com/logo.png", "https://api.example.com/v2/cities"} {
		request := map[string]any{"method": "GET", "url": url}
		entries = append(entries, map[string]any{"request": request, "response": none})
	}
	text, err := json.Marshal(map[string]any{"log": map[string]any{"version": "1.2", "entries": entries}})
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, string(text))
}

func harHeaders(h http.Header) (list []any) {
	for name, values := range h {
		for _, value := range values {
			list = append(list, map[string]string{"name": strings.ToLower(name), "value": value})
		}
	}
	return list
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recorded.har")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// altered are answers of our own server that are altered, and what is said then: the pair, what of the answer
// is replaced, by what, and the lines besides those of rows.
var altered = [][]string{
	{"cities", `"total":[0-9]+`, `"more":1`,
		"contradicts  GET /v2/cities 01-cities: data has no member total",
		"told  GET /v2/cities 01-cities: data has an additional member, more"},
	{"cities", `"total":[0-9]+`, `"total":"many"`,
		"contradicts  GET /v2/cities 01-cities: data.total is string, not integer"},
	{"cities", `"data":`, `"answer":`,
		"contradicts  GET /v2/cities 01-cities: the body has no member data",
		"told  GET /v2/cities 01-cities: the body has an additional member, answer"},
	{"cities", `\{"data"(?s:.*)`, "<html>",
		"contradicts  GET /v2/cities 01-cities: the body is not JSON"},
	{"cities", `"slug":"[^"]+",`, "",
		"told  GET /v2/cities 01-cities: data.cities[] has no member slug"},
	{"city", `"name":"[^"]+"`, `"name":null`,
		"told  GET /v2/cities/{slug} 05-city: data.city.name is null, not string"},
	{"city", `"timeZone":"[^"]+"`, `"timeZone":3`,
		"contradicts  GET /v2/cities/{slug} 05-city: data.city.timeZone is integer, not string, null"},
	{"city", `"country":"UA"`, `"country":"UA","lesia@example.com":1,"area2":{}`,
		"told  GET /v2/cities/{slug} 05-city: data.city has an additional member, area2",
		"told  GET /v2/cities/{slug} 05-city: data.city has an additional member, …"},
	{"stop", `"BUS_STATION"`, `"AIRPORT"`,
		"told  GET /v2/stops/{id} 07-stop: data.stop.type is not one of BUS_STATION, BUS_STOP"},
	{"booking", `"status":"Boarding"`, `"status":"Late"`,
		"contradicts  GET /v2/bookings/{id} 41-booking: data.booking.status is not one of Canceled, Upcoming, Boarding, InTransit, Completed"},
	{"booking", `"status":"Uncompleted"`, `"status":"Lost"`,
		"told  GET /v2/bookings/{id} 41-booking: data.booking.tickets[].status is not one of Processing, Confirmed, Canceled, Refund, Uncompleted, NotConfirmed, Prepaid"},
	{"booking", `"createdAt":"[^"]+"`, `"createdAt":"2026-11-20T08:00:00Z"`,
		"contradicts  GET /v2/bookings/{id} 41-booking: data.booking.createdAt is a string that does not match ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$"},
	{"booking", `"paymentRequiredBy":null`, `"paymentRequiredBy":7`,
		"contradicts  GET /v2/bookings/{id} 41-booking: data.booking.paymentRequiredBy is integer, not string, null"},
	{"booking", `"amount":[0-9.]+,"currency"`, `"amount":null,"currency"`,
		"contradicts  GET /v2/bookings/{id} 41-booking: data.booking.tickets[].price.amount is null, not number"},
	{"booking", `"amount":[0-9.]+,"currency"`, `"amount":"770","currency"`,
		"contradicts  GET /v2/bookings/{id} 41-booking: data.booking.tickets[].price.amount is string, not number"},
	{"ticket", `"slices":\[\{`, `"slices":[{"seat":{},`,
		"contradicts  GET /v2/tickets/{id} 36-ticket: data.ticket.slices[] has a member that is not declared, seat"},
	{"schedule", `"company":\{`, `"company":{"ceo":"",`,
		"contradicts  GET /v2/offers/schedule 08-schedule: data.departures[].company has a member that is not declared, ceo"},
	{"create", "201 Created", "200 OK",
		"contradicts  POST /v2/bookings 19-create: status 200, and the interface has 201"},
	{"city-none", "404 Not Found", "418 Teapot",
		"told  GET /v2/cities/{slug} 06-city-none: status 418, which this program does not answer"},
	{"city-none", `"message":"RESOURCE_NOT_FOUND",`, "",
		"contradicts  GET /v2/cities/{slug} 06-city-none: errors[] has no member message"},
	{"city-none", `"NOT_FOUND"`, `"NO_SUCH_CITY"`,
		"told  GET /v2/cities/{slug} 06-city-none: errors[].errorCode is NO_SUCH_CITY, not NOT_FOUND"},
	{"city-none", `"NOT_FOUND"`, `"secret of Lesia"`,
		"told  GET /v2/cities/{slug} 06-city-none: errors[].errorCode is another than NOT_FOUND"},
	{"create-strict", "400 Bad Request", "201 Created",
		"contradicts  POST /v2/bookings 24-create-strict: request has a member that is not declared, seats, but was accepted",
		"contradicts  POST /v2/bookings 24-create-strict: the body has no member data",
		"told  POST /v2/bookings 24-create-strict: the body has an additional member, errors"},
	{"schedule-days", `(?s)^.*$`, "HTTP/1.1 200 OK\n\n{\"data\":{\"total\":0,\"source\":\"Service\",\"currency\":\"UAH\",\"passengers\":1,\"departures\":[]}}",
		"contradicts  GET /v2/offers/schedule 12-schedule-days: parameter days violates maximum 14, but was accepted"},
	{"report", `"expiresAt":null`, `"expiresAt":"2026-11-30T00:00:00.000Z"`,
		"contradicts  POST /v2/reports/company/orders 49-report: data.report.expiresAt is string, not null"},
	{"rest-orders", "Sunset: .*\r\n", "",
		"contradicts  GET /rest/orders 59-rest-orders: has no header Sunset"},
	{"list", "200 OK", "404 Not Found",
		"contradicts  GET /v2/bookings 40-list: the body has no member errors",
		"told  GET /v2/bookings 40-list: status 404, which this program does not answer"},
	{"list", "200 OK", "502 Bad Gateway",
		"told  GET /v2/bookings 40-list: status 502, which this program does not answer"},
	{"list", "200 OK(?s:.*)$", "400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html>",
		"told  GET /v2/bookings 40-list: the body is not JSON"},
	{"list", "200 OK(?s:.*)$", "403 Forbidden\r\n\r\n{\"message\":\"Forbidden\"}",
		"told  GET /v2/bookings 40-list: status 403, which this program does not answer"},
	{"list", "200 OK", "203 Non-Authoritative Information",
		"told  GET /v2/bookings 40-list: status 203, which this program does not answer"},
	{"list", "200 OK(?s:.*)$", "504 Gateway Timeout\r\n\r\n<html>",
		"told  GET /v2/bookings 40-list: status 504, which this program does not answer"},
}

// Decision conform.recorded: what contradicts the interface, and what is only told, to the letter.
func TestWhatContradictsAndWhatIsTold(t *testing.T) {
	pairs := ownPairs(t)
	for _, x := range altered {
		_, other := alter(t, pairs, x[0], x[1], x[2])
		lines := said(t, &Recording{exchanges: []*exchange{other}})
		var got []string
		for _, line := range lines {
			if strings.HasPrefix(line, "contradicts") || strings.HasPrefix(line, "told") {
				got = append(got, line)
			}
		}
		if !slices.Equal(got, x[3:]) {
			t.Errorf("%s, %s as %s:\n got %s\nwant %s", x[0], x[1], x[2], strings.Join(got, "\n     "),
				strings.Join(x[3:], "\n     "))
		}
	}
}

// Decision conform.recorded: the same of the same call is one line, which counts the others.
func TestTheSameIsSaidOnce(t *testing.T) {
	bad := pair{"a", "GET /v2/stops/s-1\n\n", "HTTP/1.1 200 OK\n\n" + `{"data":[]}`}
	r := recordingOf(t, []pair{bad, bad, {"b", "GET /v2/stops/s-2\n\n", bad.response}})
	lines := said(t, r)
	const want = "contradicts  GET /v2/stops/{id} a: data is array, not object (and in 2 more)"
	if lines[0] != want || strings.HasPrefix(lines[1], "contradicts") {
		t.Errorf("%s\n%s\nwant %s", lines[0], lines[1], want)
	}
}

// Decision conform.recorded: nothing of a recording's values is printed, wherever it stands.
func TestNoValueIsPrinted(t *testing.T) {
	text := regexp.MustCompile(`"([^"\\]|\\.)*"([:,\]}])`)
	var pairs []pair
	for _, p := range ownPairs(t) {
		mark := func(found string) string {
			if strings.HasSuffix(found, ":") {
				return found
			}
			return `"marker 9"` + found[len(found)-1:]
		}
		head, body, _ := strings.Cut(p.response, "\r\n\r\n")
		body = text.ReplaceAllStringFunc(body, mark)
		head = contentLength.ReplaceAllString(head+"\r\n", "")
		head = regexp.MustCompile(`(?m)^([A-Z][\w-]+): .*\r$`).ReplaceAllString(head, "$1: marker\r") + "\r\n"
		first, rest, _ := strings.Cut(p.request, " ")
		target, rest, _ := strings.Cut(rest, " ")
		query := regexp.MustCompile(`=[^&]+`).ReplaceAllString(target, "=marker") + "&marker@9=marker"
		if !strings.Contains(query, "?") {
			query = target + "?marker@9=marker"
		}
		pairs = append(pairs, pair{p.name, first + " " + query + " " + rest,
			head + body})
		if !strings.HasPrefix(target, "/v2/") {
			continue
		}
		unknown := strings.Replace(query, "/v2/", "/v2/marker/", 1)
		members := strings.Replace(body, "{", `{"marker 8":"marker","marker@9":{},"9marker":1,`, 1)
		pairs = append(pairs, pair{p.name + "-u", "MARKER " + unknown + " HTTP/1.1\n\n", head + body},
			pair{p.name + "-m", first + " " + query + " " + rest, head + members})
	}
	lines := said(t, recordingOf(t, pairs))
	if len(lines) < 250 {
		t.Errorf("only %d lines", len(lines))
	}
	for _, line := range lines {
		if strings.Contains(strings.ToLower(line), "marker") {
			t.Error(line)
		}
	}
}

// A number in a query is a number, also where the document lets it be left empty.
func TestNumbersOfAQuery(t *testing.T) {
	asked := pair{"a", "GET /v2/bookings?skip=2&take=3\n\n", "HTTP/1.1 200 OK\n\n" +
		`{"data":{"total":0,"bookings":[]}}`}
	for _, line := range said(t, recordingOf(t, []pair{asked})) {
		if strings.HasPrefix(line, "contradicts") || strings.HasPrefix(line, "told") {
			t.Error(line)
		}
	}
}

// What curl and proxies put around an answer is taken off.
func TestWhatStandsAroundAnAnswer(t *testing.T) {
	city := `{"data":{"city":{"id":"1","name":"Kyiv","slug":"kyiv","country":"UA","timeZone":"Europe/Kyiv"}}}`
	for what, response := range map[string]string{
		"HTTP/2":                     "HTTP/2 200 \r\ncontent-type: application/json\r\n\r\n" + city,
		"lines of LF":                "HTTP/1.1 200 OK\nContent-Type: application/json\n\n" + city,
		"a proxy's answer before it": "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + city,
		"100 Continue":               "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + city,
		"chunks":                     fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(city), city),
		"chunks that were taken off": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + city,
		"packing that was taken off": "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 999\r\n\r\n" + city,
		"gzip":                       "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + string(packed(t, city)),
		"a length of before a name was taken out": "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + city,
		"HEAD's length without a body":            "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
	} {
		pairs := []pair{{"a", "GET /api/v2/cities/kyiv HTTP/2\n\n", response}}
		for _, line := range said(t, recordingOf(t, pairs)) {
			if strings.HasPrefix(line, "contradicts") || strings.HasPrefix(line, "told") {
				t.Errorf("%s: %s", what, line)
			}
		}
	}
	for _, response := range []string{
		"HTTP/2 200\ncontent-encoding: br\n\n\xff\xfe",
		"HTTP/2 200\ncontent-length: 99\n\n" + city[:50],
		"HTTP/2 200\ncontent-length: 99\n\n",
	} {
		lines := said(t, recordingOf(t, []pair{{"a", "GET /v2/cities/kyiv HTTP/2\n\n", response}}))
		const want = "told  GET /v2/cities/{slug} a: the recording lacks the answer's body: nothing was compared"
		if lines[0] != want {
			t.Error(lines[0])
		}
	}
}
