package reference

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The examples of the reference: the document has each call as a line of curl, and the pages show the same
// call in other languages besides, made from that line. A test of package server runs them all.

// A sample is a call in one language.
type sample struct {
	Language, Source string
	First            bool // it is shown at once, the others when somebody opens them
}

// A fragment is a piece of text, or a variable of the environment that stands for one.
type fragment struct {
	text     string
	variable bool
}

// curlCall is what a line of curl asks for.
type curlCall struct {
	method  string
	url     []fragment
	headers []header
	body    []fragment
	cookies bool // it shows the session's cookies
	signsIn bool // the answer sets them
}

// header is a line of a request's header.
type header struct {
	name  string
	value []fragment
}

// cookieVariable holds a session's cookies as a request shows them, where there is no file of curl's.
const cookieVariable = "SESSION"

// samplesOf returns a line of curl, and the same call in TypeScript, Go and Python.
func samplesOf(curl string) []sample {
	c := readCurl(curl)
	return []sample{
		{"curl", curl, true},
		{"TypeScript", c.typeScript(), false},
		{"Go", c.golang(), false},
		{"Python", c.python(), false},
	}
}

// readCurl reads a line of curl as the document has them.
func readCurl(line string) *curlCall {
	c := &curlCall{}
	words := shellWords(line)
	for i := 1; i < len(words); i++ {
		word := plainText(words[i])
		switch word {
		case "-X":
			i++
			c.method = plainText(words[i])
		case "-H":
			i++
			c.addHeader(words[i])
		case "-d":
			i++
			c.body = words[i]
		case "-b":
			i++
			c.cookies = true
		case "-c":
			i++
			c.signsIn = true
		default:
			c.url = words[i]
		}
	}
	if c.method == "" {
		c.method = "GET"
		if c.body != nil {
			c.method = "POST"
		}
	}
	if c.cookies {
		c.headers = append(c.headers, header{"Cookie", []fragment{{cookieVariable, true}}})
	}
	return c
}

// addHeader adds what -H says.
func (c *curlCall) addHeader(word []fragment) {
	name, rest, _ := strings.Cut(word[0].text, ": ")
	value := slices.Clone(word[1:])
	if rest != "" {
		value = append([]fragment{{rest, false}}, value...)
	}
	c.headers = append(c.headers, header{name, value})
}

// shellWords splits a line as a shell does, as far as the document's lines need it: quotes of both kinds,
// variables, and lines that a backslash continues.
func shellWords(line string) (words [][]fragment) {
	var word []fragment
	var text strings.Builder
	begun := false
	endText := func() {
		if text.Len() > 0 {
			word = append(word, fragment{text.String(), false})
			text.Reset()
		}
	}
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		b := line[i]
		switch {
		case b == '$' && quote != '\'':
			endText()
			n := i + 1
			for n < len(line) && line[n] >= 'A' && line[n] <= 'Z' {
				n++
			}
			word = append(word, fragment{line[i+1 : n], true})
			begun = true
			i = n - 1
		case quote == 0 && (b == '"' || b == '\''):
			quote = b
			begun = true
		case b == quote:
			quote = 0
		case quote == 0 && (b == ' ' || b == '\n' || b == '\\'):
			if endText(); begun {
				words = append(words, word)
			}
			word = nil
			begun = false
		default:
			text.WriteByte(b)
			begun = true
		}
	}
	if endText(); begun {
		words = append(words, word)
	}
	return words
}

// plainText returns what fragments say that have no variable.
func plainText(list []fragment) (text string) {
	for _, f := range list {
		text += f.text
	}
	return text
}

// variables lists those of a call, each once, in the order in which they are used.
func (c *curlCall) variables() (names []string) {
	all := slices.Clone(c.url)
	for _, h := range c.headers {
		all = append(all, h.value...)
	}
	for _, f := range append(all, c.body...) {
		if f.variable && !slices.Contains(names, f.text) {
			names = append(names, f.text)
		}
	}
	return names
}

// joined writes fragments as an expression: texts as text writes them, variables as variable does, with plus
// between.
func joined(list []fragment, text, variable func(string) string) string {
	var parts []string
	for _, f := range list {
		if f.variable {
			parts = append(parts, variable(f.text))
		} else {
			parts = append(parts, text(f.text))
		}
	}
	return strings.Join(parts, " + ")
}

// typeScript returns the call in TypeScript, with fetch.
func (c *curlCall) typeScript() string {
	text := func(list []fragment) string {
		var b strings.Builder
		for _, f := range list {
			if f.variable {
				b.WriteString("${" + f.text + "}")
			} else {
				b.WriteString(strings.NewReplacer("`", "\\`", `\`, `\\`, "${", "\\${").Replace(f.text))
			}
		}
		return "`" + b.String() + "`"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "const { %s } = process.env;\n", strings.Join(c.variables(), ", "))
	fmt.Fprintf(&b, "const answer = await fetch(%s", text(c.url))
	if c.method != "GET" || c.headers != nil {
		b.WriteString(", {\n")
		if c.method != "GET" {
			fmt.Fprintf(&b, "  method: %q,\n", c.method)
		}
		if c.headers != nil {
			fmt.Fprintf(&b, "  headers: { %s },\n", c.headerMembers(text))
		}
		if c.body != nil {
			fmt.Fprintf(&b, "  body: %s,\n", text(c.body))
		}
		b.WriteString("}")
	}
	b.WriteString(");\nconsole.log(answer.status, await answer.text());\n")
	if c.signsIn {
		b.WriteString("console.log(answer.headers.getSetCookie()); // " + cookieVariable +
			", for what comes next\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// headerMembers writes the header as members of an object, which TypeScript and Python write alike.
func (c *curlCall) headerMembers(text func([]fragment) string) string {
	var list []string
	for _, h := range c.headers {
		list = append(list, fmt.Sprintf("%q: %s", h.name, text(h.value)))
	}
	return strings.Join(list, ", ")
}

// golang returns the call as a Go program.
func (c *curlCall) golang() string {
	text := func(list []fragment) string {
		return joined(list, func(s string) string {
			if strings.ContainsAny(s, "\"\\") && !strings.Contains(s, "`") {
				return "`" + s + "`"
			}
			return strconv.Quote(s)
		}, func(name string) string {
			return "os.Getenv(" + strconv.Quote(name) + ")"
		})
	}
	imports := []string{"fmt", "io", "log", "net/http", "os"}
	body := "nil"
	var b strings.Builder
	if c.body != nil {
		imports = append(imports, "strings")
		body = "strings.NewReader(body)"
	}
	b.WriteString("package main\n\nimport (\n")
	for _, name := range imports {
		fmt.Fprintf(&b, "\t%q\n", name)
	}
	b.WriteString(")\n\nfunc main() {\n")
	fmt.Fprintf(&b, "\turl := %s\n", text(c.url))
	if c.body != nil {
		fmt.Fprintf(&b, "\tbody := %s\n", text(c.body))
	}
	fmt.Fprintf(&b, "\trequest, err := http.NewRequest(%q, url, %s)\n", c.method, body)
	b.WriteString("\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n")
	for _, h := range c.headers {
		fmt.Fprintf(&b, "\trequest.Header.Set(%q, %s)\n", h.name, text(h.value))
	}
	b.WriteString("\tanswer, err := http.DefaultClient.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n")
	b.WriteString("\tdefer answer.Body.Close()\n\ttext, err := io.ReadAll(answer.Body)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n")
	b.WriteString("\tfmt.Println(answer.StatusCode, string(text))\n")
	if c.signsIn {
		b.WriteString("\tfmt.Println(answer.Header[\"Set-Cookie\"]) // " + cookieVariable +
			", for what comes next\n")
	}
	b.WriteString("}")
	return b.String()
}

// python returns the call in Python, with urllib.
func (c *curlCall) python() string {
	text := func(list []fragment) string {
		return joined(list, func(s string) string {
			if strings.Contains(s, `"`) && !strings.ContainsAny(s, `'\`) {
				return "'" + s + "'"
			}
			return strconv.Quote(s)
		}, func(name string) string {
			return "env[" + strconv.Quote(name) + "]"
		})
	}
	var b strings.Builder
	b.WriteString("import os, urllib.request\n\nenv = os.environ\nrequest = urllib.request.Request(\n")
	fmt.Fprintf(&b, "    %s,\n    method=%q,\n", text(c.url), c.method)
	if c.headers != nil {
		fmt.Fprintf(&b, "    headers={%s},\n", c.headerMembers(text))
	}
	if c.body != nil {
		fmt.Fprintf(&b, "    data=(%s).encode(),\n", text(c.body))
	}
	b.WriteString(")\nwith urllib.request.urlopen(request) as answer:\n    print(answer.status, answer.read().decode())\n")
	if c.signsIn {
		b.WriteString("    print(answer.headers.get_all(\"Set-Cookie\"))  # " + cookieVariable +
			", for what comes next\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
