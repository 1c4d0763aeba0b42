package transcript

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Play plays a line. Errors: *Mismatch of a check, *Unmet of a condition, *Unknown, those of Ask and of the
// verbs, and that the line is no step.
func (p *Player) Play(line string) error {
	step := strings.TrimSpace(line)
	condition, isCondition := strings.CutPrefix(step, "? ")
	switch {
	case isCondition:
		return p.condition(condition)
	case strings.HasPrefix(line, " "):
		return p.Check(step)
	}
	word, rest, _ := strings.Cut(step, " ")
	if verb := p.Verbs[word]; verb != nil {
		return verb(rest)
	}
	switch word {
	case "as":
		p.Caller = rest
		return nil
	case "with":
		return p.with(rest)
	case "set":
		name, text, _ := strings.Cut(rest, " ")
		return p.keep(name, text, p.Expand)
	case "await":
		return p.await(rest)
	}
	if name, expression, ok := strings.Cut(step, " = "); ok && isName.MatchString(name) {
		return p.keep(name, expression, p.evaluate)
	}
	if !isMethod.MatchString(word) {
		return fmt.Errorf("%q is no step", step)
	}
	return p.request(step)
}

var (
	isName   = regexp.MustCompile(`^\w+$`)
	isMethod = regexp.MustCompile(`^[A-Z]+$`)
)

// keep keeps what a text comes to.
func (p *Player) keep(name, text string, value func(string) (string, error)) error {
	v, err := value(text)
	if err == nil {
		p.Vars[name] = v
	}
	return err
}

// with gives the next request a header.
func (p *Player) with(rest string) error {
	name, value, _ := strings.Cut(rest, ": ")
	value, err := p.expandAs(value, textOf)
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Add(name, value)
	return err
}

// request asks, with the headers that were given for it.
func (p *Player) request(line string) (err error) {
	p.Asked = line
	p.Answer = Answer{}
	r := Request{Header: p.header}
	r.Method, r.Target, r.Body = Split(line)
	if r.Target, err = p.expandAs(r.Target, inTarget); err != nil {
		return err
	}
	if r.Body, err = p.Expand(r.Body); err != nil {
		return err
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	p.header = nil
	p.last = r
	return p.ask()
}

// ask asks the last question.
func (p *Player) ask() (err error) {
	r := p.last
	r.Header = r.Header.Clone()
	p.Answer, err = p.Ask(r)
	return err
}

// Forget takes away what was said for a request that did not come.
func (p *Player) Forget() {
	p.header = nil
	p.Answer = Answer{}
	p.Asked = ""
}

// await asks again until a check holds.
func (p *Player) await(check string) error {
	deadline := time.Now().Add(p.Patience)
	for {
		err := p.Check(check)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(p.Patience / 200)
		if err := p.ask(); err != nil {
			return err
		}
	}
}

// condition tries a check.
func (p *Player) condition(check string) error {
	if status, not := strings.CutPrefix(check, "!"); not {
		if strconv.Itoa(p.Answer.Status) == status {
			return &Unmet{"the answer is " + status}
		}
		return nil
	}
	err := p.Check(check)
	var wrong *Mismatch
	if errors.As(err, &wrong) {
		return &Unmet{"not: " + strings.ReplaceAll(wrong.Error(), "\n", ", ")}
	}
	return err
}

var variable = regexp.MustCompile(`\$\w+`)

// Expand puts variables into a text, as they are. Error: *Unknown.
func (p *Player) Expand(text string) (expanded string, err error) {
	return p.expandAs(text, func(value string) string { return value })
}

// expandAs is Expand with the values in another form.
func (p *Player) expandAs(text string, form func(value string) string) (expanded string, err error) {
	expanded = variable.ReplaceAllStringFunc(text, func(found string) string {
		name := found[1:]
		v, ok := p.Vars[name]
		if !ok && err == nil {
			err = &Unknown{name}
		}
		return form(v)
	})
	return expanded, err
}

// inTarget returns the form of a variable in a target: what is no target itself is escaped.
func inTarget(value string) string {
	text := textOf(value)
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "http") {
		return text
	}
	return url.QueryEscape(text)
}

// Split parts a request into its method, its target and its body.
func Split(line string) (method, target, body string) {
	method, rest, _ := strings.Cut(line, " ")
	target, body, _ = strings.Cut(rest, " ")
	return method, target, body
}
