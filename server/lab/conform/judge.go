package conform

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"waybill/server/lab/transcript"
)

// skip is why a rule cannot be shown.
type skip struct{ why string }

func (s *skip) Error() string { return s.why }

// failure is a fault of a server. Failures of one cause are printed in full once.
type failure struct {
	cause string // equal for failures of one cause
	text  string // the request, what came and what was expected
}

func (f *failure) Error() string { return f.text }

// playStage plays what comes before a stage's rules, and these, and cancels what they have booked. A variable
// that a step keeps is there for all that comes after it in the stage.
func (p *player) playStage(s *stage, each func(Result)) {
	p.lookAhead()
	p.Vars = map[string]string{}
	maps.Copy(p.Vars, p.known)
	p.like.begin(p.known)
	p.lacking = map[string]error{}
	maps.Copy(p.lacking, p.never)
	p.playSteps(s.setup)
	for _, r := range s.rules {
		each(p.judge(r))
	}
	p.leaveWorld()
	p.removeScratch()
	p.cancelAll()
}

// judge plays a rule.
func (p *player) judge(r *Rule) Result {
	began := time.Now()
	result := Result{Rule: r, Verdict: Pass}
	err := p.playSteps(r.steps)
	if slices.Contains(r.steps, "alone") {
		for n := 1; n < playedAlone && isFault(err); n++ {
			err = p.playSteps(r.steps)
		}
	}
	var wrong *failure
	var skipped *skip
	switch {
	case errors.As(err, &wrong):
		result.Verdict = Fail
		result.cause = wrong.cause
		result.Detail = p.once(r.ID, wrong.cause, wrong.text+"\nsee "+p.docs()+r.Page())
	case errors.As(err, &skipped):
		result.Verdict = NotShown
		result.Detail = skipped.why
	}
	p.weigh(&result)
	result.Detail = shortened(p.hide(result.Detail))
	result.Took = time.Since(began)
	return result
}

// playedAlone is how often a rule must fail that compares what others may change.
const playedAlone = 3

// isFault reports whether an error is that of a server.
func isFault(err error) bool {
	var wrong *failure
	return errors.As(err, &wrong)
}

// weigh makes of a verdict what it is worth under -known and -strict.
func (p *player) weigh(r *Result) {
	listed := slices.Contains(p.opt.Known, r.ID)
	switch {
	case r.Verdict == Fail && listed:
		r.Verdict = Known
	case r.Verdict == Pass && listed:
		r.Verdict = Fail
		r.cause = "-known"
		r.Detail = "it is listed by -known but passes: take it off the list"
	case r.Verdict == NotShown && p.opt.Strict && !listed && !p.stopped():
		r.Verdict = Fail
		r.cause = "not shown: " + r.Detail
		r.Detail = p.once(r.ID, r.cause, r.cause)
	}
}

// once returns a text for the first rule of a cause, and for the others the name of that rule.
func (p *player) once(rule, cause, text string) string {
	first, told := p.causes[cause]
	if told {
		return "as " + first
	}
	p.causes[cause] = rule
	return text
}

// docs is where pages of the interface are shown; "" says only that they are on any server of this program.
func (p *player) docs() string {
	return p.opt.LikeURL
}

// playSteps plays the steps of a rule. After a check that failed it plays the others, so that later rules
// find the values that these keep. Errors: the first *failure, or *skip; after a skip, the values that the
// steps left would have kept are missing for the same reason.
func (p *player) playSteps(steps []string) (result error) {
	p.begin()
	for i, step := range steps {
		err := p.step(step)
		if err == nil {
			continue
		}
		result = p.first(result, err)
		for _, left := range steps[i:] {
			p.lack(left, result)
		}
		var wrong *failure
		if p.silent || !errors.As(err, &wrong) {
			return result
		}
	}
	return p.first(result, nil)
}

// first returns the first of what went wrong: an answer that differs from the other server's comes after what
// is wrong with it by itself, and before what only says that a rule cannot be shown.
func (p *player) first(earlier, now error) error {
	var skipped *skip
	switch {
	case earlier != nil:
		return earlier
	case now != nil && !errors.As(now, &skipped):
		return now
	case p.like.difference != nil:
		return p.like.difference
	}
	return now
}

// begin forgets what the last rule has left.
func (p *player) begin() {
	p.Caller = "key"
	p.silent = false
	p.like.difference = nil
	p.like.words = ""
	p.goOn()
	p.leaveWorld()
	p.request = ""
	p.Forget()
	_ = p.lookAhead() // where nothing lies ahead, the rule finds no offer
}

// step plays a step, and says of what failed what its cause is.
func (p *player) step(step string) error {
	if p.stopped() {
		return &skip{"the run was stopped"}
	}
	err := p.playStep(step)
	var unknown *transcript.Unknown
	if errors.As(err, &unknown) && p.seek(unknown.Name) {
		err = p.playStep(step)
	}
	var skipped *skip
	var wrong *failure
	switch {
	case err == nil, errors.As(err, &skipped), errors.As(err, &wrong):
		return err
	case errors.As(err, &unknown):
		if reason := p.lacking[unknown.Name]; reason != nil {
			return reason
		}
		return p.fault("no step gave $"+unknown.Name, err)
	}
	return p.fault(strings.TrimSpace(step), err)
}

// fault makes a failure of what is wrong with the last answer. The cause is what was asked and what came; a
// server that takes what it must refuse has one cause for each request.
func (p *player) fault(step string, err error) *failure {
	request := p.Asked
	var wrong *transcript.Mismatch
	if errors.As(err, &wrong) && wrong.What == "status" {
		step = "status " + wrong.Got
		if p.Answer.Status >= 300 {
			request, _, _ = strings.Cut(request, "?")
			request, _, _ = strings.Cut(request, "&")
			method, target, _ := transcript.Split(request)
			request = method + " " + target
		}
	} else {
		request, _, _ = strings.Cut(request, "?")
	}
	text := err.Error() + "\n" + p.request + "\n" + p.came()
	if p.like.words != "" {
		text = p.like.words + "\n" + text
	}
	return &failure{
		cause: request + " " + step,
		text:  text,
	}
}

// kept are the names that a step keeps values as.
var kept = regexp.MustCompile(`^\s*(?:\? )?(?:(\w+) = |(?:set|book|offer) (\w+) )`)

// lack remembers why what a step keeps is not there.
func (p *player) lack(step string, why error) {
	if step == "find-stop" {
		p.lacking["stop"] = why
		return
	}
	m := kept.FindStringSubmatch(step)
	if m == nil {
		return
	}
	name := m[1] + m[2]
	p.lacking[name] = why
	delete(p.Vars, name)
	word, _, _ := strings.Cut(step, " ")
	switch word {
	case "offer":
		for _, of := range offerKeeps {
			p.lacking[name+of] = why
			delete(p.Vars, name+of)
		}
	case "book":
		for _, of := range []string{"_created", "_t1", "_t2", "_t3"} {
			p.lacking[name+of] = why
			delete(p.Vars, name+of)
		}
	}
}

// came shows the last answer.
func (p *player) came() string {
	if p.Answer.Status == 0 {
		return "came nothing"
	}
	return fmt.Sprintf("came %d %s", p.Answer.Status, strings.TrimSpace(string(p.Answer.Body)))
}

// shortened returns lines as far as somebody would read them.
func shortened(text string) string {
	const most = 600 // bytes of a line
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(line) > most {
			line = line[:most] + "…"
		}
		lines[i] = strings.Map(printable, strings.ToValidUTF8(line, "�"))
	}
	return strings.Join(lines, "\n")
}

// printable returns a character as a terminal may be shown it: what a foreign server answers may hold others,
// which clear the screen or worse.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return '�'
	}
	return r
}

// hide takes secrets out of a text.
func (p *player) hide(text string) string {
	secrets := []string{p.opt.Key, p.opt.Key2, p.opt.LikeKey, p.opt.IDToken, p.Vars["foreign"],
		p.opt.Password, p.known["password"]}
	for _, where := range []string{p.opt.BaseURL, p.opt.LikeURL, p.opt.ControlURL} {
		if _, password, ok := strings.Cut(userOf(where), ":"); ok {
			secrets = append(secrets, password)
		}
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return cookieValue.ReplaceAllString(text, "=…")
}

// userOf returns what a URL has of a user, with the password as it stands there; "" is nothing.
func userOf(where string) string {
	u, err := url.Parse(where)
	if err != nil || u.User == nil {
		return ""
	}
	_, rest, _ := strings.Cut(where, "://")
	user, _, _ := strings.Cut(rest, "@")
	return user
}

// cookieValue is what a Set-Cookie header has after a name, and nothing else that is shown.
var cookieValue = regexp.MustCompile(`=[A-Za-z0-9_.-]{20,}`)
