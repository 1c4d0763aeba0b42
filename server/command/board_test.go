//go:build !lean

package command

import (
	"bytes"
	"flag"
	"fmt"
	"html"
	"net/http"
	"os"
	"regexp"
	"testing"
)

var drawAnew = flag.Bool("update", false, "draw the README's picture anew")

// boardFile is the picture of a departure board that the README begins with.
const boardFile = "../docs/board.svg"

// checkBoard holds the README's picture against the board that a server shows.
func checkBoard(t *testing.T, addr string) {
	t.Helper()
	r, err := http.NewRequest("GET", "http://"+addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var page bytes.Buffer
	if _, err := page.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	drawn := drawBoard(page.String())
	if *drawAnew {
		if err := os.WriteFile(boardFile, drawn, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := os.ReadFile(boardFile); err != nil || !bytes.Equal(there, drawn) {
		t.Errorf("%s is not what the busy demo shows (%v); "+
			"go test ./server/command -run TestABusyDemo -update draws it anew", boardFile, err)
	}
}

var (
	boardRow  = regexp.MustCompile(`<tr><td data-label="Leaves">.*</tr>`)
	boardCell = regexp.MustCompile(`<t[dh][^>]* data-label="(\w+)"[^>]*>(.*?)</t[dh]>`)
	boardTag  = regexp.MustCompile(`<[^>]*>`)
)

// drawBoard draws the departures of a page. The picture has its own colours, and is dark wherever it is seen.
func drawBoard(page string) []byte {
	rows := boardRow.FindAllString(page, -1)
	const (
		top    = 74
		height = 27
		width  = 860
	)
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" `+
		`font-family="ui-monospace, 'DejaVu Sans Mono', monospace" font-size="15" fill="#ffe2a0">`+"\n",
		width, top+len(rows)*height)
	fmt.Fprintln(&out, `<title>The departure board of the busy demo</title>`)
	fmt.Fprintln(&out, `<rect width="100%" height="100%" rx="8" fill="#11151c"/>`)
	fmt.Fprintln(&out, `<text x="20" y="32" font-size="20" font-weight="700" fill="#ffffff">DEPARTURES</text>`)
	columns := []struct {
		name string
		x    int
	}{{"Leaves", 20}, {"From", 90}, {"To", 210}, {"Carrier", 400}, {"Seats", 610}, {"Remark", 680}}
	for _, c := range columns {
		fmt.Fprintf(&out, `<text x="%d" y="58" font-size="12" fill="#b9c2cd">%s</text>`+"\n", c.x, c.name)
	}
	for i, row := range rows {
		y := top + i*height
		fmt.Fprintf(&out, `<path d="M20 %dH%d" stroke="#2c3644"/>`+"\n", y-10, width-20)
		cells := map[string]string{}
		for _, cell := range boardCell.FindAllStringSubmatch(row, -1) {
			first, _, _ := bytes.Cut([]byte(cell[2]), []byte("<br>"))
			first, _, _ = bytes.Cut(first, []byte(`<span class="type">`))
			cells[cell[1]] = html.UnescapeString(boardTag.ReplaceAllString(string(first), ""))
		}
		for _, c := range columns {
			text := html.EscapeString(cells[c.name])
			fmt.Fprintf(&out, `<text x="%d" y="%d">%s</text>`+"\n", c.x, y+9, text)
		}
	}
	fmt.Fprintln(&out, `</svg>`)
	return out.Bytes()
}
