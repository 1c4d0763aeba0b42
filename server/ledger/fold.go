package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// foldAbove is how many bytes a list or an object of a line may have that is shown whole.
const foldAbove = 400

// known says what members of lines repeat that somebody who reads a line knows, or does not ask for.
var known = map[string]string{
	"forms":      "the run as sold",
	"runs":       "the run as sold",
	"tickets":    "each ticket",
	"passengers": "each passenger",
	"program":    "the program",
}

// Fold returns the text of a line, or of its beginning, with each long list or object of its data folded
// (decision desk.folded):
//
//	"forms":[… 2.9 KB, the run as sold …]
//
// All else stays as it is, to the byte. A text that is no line is returned as it is.
func Fold(line []byte) string {
	start := bytes.Index(line, []byte(`"data":{`))
	if start < 0 {
		return string(line)
	}
	start += len(`"data":`)
	var out bytes.Buffer
	out.Write(line[:start])
	rest := line[start:]
	dec := json.NewDecoder(bytes.NewReader(rest))
	if _, err := dec.Token(); err != nil {
		return string(line)
	}
	done := int64(0)
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return string(line)
		}
		after := dec.InputOffset()
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return string(line)
		}
		end := dec.InputOffset()
		if len(value) <= foldAbove || value[0] != '[' && value[0] != '{' {
			continue
		}
		out.Write(rest[done : after+1]) // with the colon
		fmt.Fprintf(&out, "%c… %s …%c", value[0], folded(name, len(value)), value[len(value)-1])
		done = end
	}
	out.Write(rest[done:])
	return out.String()
}

// folded says what is folded.
func folded(name json.Token, size int) string {
	said := fmt.Sprintf("%d bytes", size)
	if size >= 1000 {
		said = fmt.Sprintf("%.1f KB", float64(size)/1000)
	}
	if what := known[fmt.Sprint(name)]; what != "" {
		said += ", " + what
	}
	return said
}
