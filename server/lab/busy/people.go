package busy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// ask makes a call of the partner. An answer that refuses it is an error.
func (x *Town) ask(method, path string, body any) ([]byte, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(text))
	r.Header.Set("x-api-key", x.Key)
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	x.Server.ServeHTTP(answer, r)
	if answer.Code >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, answer.Code, answer.Body.Bytes())
	}
	return answer.Body.Bytes(), nil
}
