package busy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// names are those of passengers, in the letters of the countries on the way: nobody's is in two scripts.
var names = []struct{ first, last []string }{
	{
		first: []string{
			"Lesia", "Ivan", "Olha", "Taras", "Zofia", "Jan", "Małgorzata", "Tomáš", "Eliška", "Andrii", "Anna",
			"Jakub", "Nadiia", "Dmytro",
		},
		last: []string{
			"Ukrainka", "Franko", "Kobylianska", "Shevchenko", "Nowak", "Wiśniewska", "Kowalczyk", "Dvořák",
			"Nováková", "Petrenko", "Lewandowska", "Zieliński",
		},
	},
	{
		first: []string{"Ірина", "Микола", "Соломія", "Марко"},
		last:  []string{"Костенко", "Стус", "Крушельницька", "Гнатюк"},
	},
}

// passengers returns some people. The first of them can be reached.
func (x *Town) passengers(n int) []map[string]any {
	var list []map[string]any
	for i := range n {
		script := &names[x.random.IntN(len(names))]
		p := map[string]any{
			"firstName": script.first[x.random.IntN(len(script.first))],
			"lastName":  script.last[x.random.IntN(len(script.last))],
		}
		if i == 0 {
			number := x.random.IntN(10_000)
			p["email"] = fmt.Sprintf("passenger%04d@example.com", number)
			p["phones"] = []map[string]string{{"phone": fmt.Sprintf("+38050555%04d", number)}}
		}
		list = append(list, p)
	}
	return list
}

// answer takes an answer of the server.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// ask makes a call of the partner. An answer that refuses it is an error.
func (x *Town) ask(method, path string, body any) ([]byte, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(context.Background(), method, path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("x-api-key", x.Key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a := &answer{header: http.Header{}}
	x.Server.ServeHTTP(a, r)
	if a.status >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, a.status, a.body.Bytes())
	}
	return a.body.Bytes(), nil
}
