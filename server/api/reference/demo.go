package reference

import (
	"encoding/json"
	"strings"

	"waybill/server/docs"
)

// What the pages say of the demo network: how to see each error there, and which pairs of cities show
// something.

// demonstration says how to bring an error about on the demo.
type demonstration struct {
	Text  string // in words
	Shell string // to be pasted; "" where it takes more than calls
}

// Demonstrations are those of all codes. A test plays them.
var Demonstrations = func() (byCode map[string]demonstration) {
	text, _ := docs.Files.ReadFile("demo.json")
	if err := json.Unmarshal(text, &byCode); err != nil {
		panic(err)
	}
	return byCode
}()

// demoPair is a pair of cities of the demo network that shows something.
type demoPair struct {
	From, To string // slugs
	Shows    string
}

// DemoPairs are tried by a test.
var DemoPairs = []demoPair{
	{"kyiv", "lviv", "the usual: some departures a day, by day and by night"},
	{"kyiv", "warsaw", "over a border and a time zone, with 10 % off"},
	{"lviv", "prague", "two discounts at a time: the larger counts, 15 %"},
	{"ivano-frankivsk", "bukovel", "a bus with three seats: NO_SEATS is near"},
	{"bucharest", "vienna", "an external operator: a paid ticket is canceled without a refund"},
	{"berlin", "lviv", "a change in Warsaw, between two companies"},
	{"krakow", "lublin", "two legs of one company, and two of different ones"},
	{"kyiv", "kyiv", "nowhere: an empty list"},
}

// DemoUser is the company user of the demo network, an ADMIN of zorevia-lines.
const DemoUser = "demo@example.com"

// DemoCompanies are those of the demo network.
var DemoCompanies = strings.Fields("zorevia-lines wislovia-coach vltavia-bus carpadan-express")
