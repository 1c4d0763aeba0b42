package conform

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/server/lab/transcript"
)

// patience is how long an answer may take.
const patience = 30 * time.Second

// send makes a request of any server, and reads the answer. It is also how a run asks for clocks and worlds,
// which are no part of the interface.
func (p *player) send(method, url, body string, header http.Header) (a transcript.Answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	if header != nil {
		r.Header = header
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	const most = 16 << 20 // bytes
	b, err := io.ReadAll(io.LimitReader(resp.Body, most))
	return transcript.Answer{
		Status: resp.StatusCode,
		Header: resp.Header,
		Body:   b,
	}, err
}

// baseURL is where the rules are played: the world that was made for them, if there is one.
func (p *player) baseURL() string {
	if p.inScratch {
		return p.scratch.url
	}
	return cmp.Or(p.world.url, p.opt.BaseURL)
}

// reads reports whether a request only reads.
func reads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead
}

// ask makes a request of the interface, as the caller. What it books is remembered before anything is
// checked: a server that breaks a rule books all the same.
func (p *player) ask(r transcript.Request) (transcript.Answer, error) {
	if p.stopped() {
		return transcript.Answer{}, &skip{"the run was stopped"}
	}
	if !reads(r.Method) {
		if err := p.mayWrite(); err != nil {
			return transcript.Answer{}, err
		}
	}
	key, err := p.credentials(r.Header)
	if err != nil {
		return transcript.Answer{}, err
	}
	if err := p.afford(r); err != nil {
		return transcript.Answer{}, err
	}
	if err := p.exchange(r.Method, r.Target, r.Body, r.Header); err != nil {
		return transcript.Answer{}, err
	}
	p.keepCookies()
	p.rememberBookings(r, key)
	return p.Answer, nil
}

// exchange sends a request and keeps its answer.
func (p *player) exchange(method, target, body string, header http.Header) error {
	where := p.baseURL() + target
	if strings.HasPrefix(target, "http") { // a link that an answer has
		where = target
	}
	p.request = strings.TrimSpace(method + " " + where + " " + body)
	p.Answer = transcript.Answer{}
	a, err := p.send(method, where, body, header)
	if err != nil {
		p.silent = true
		return &failure{
			cause: "nothing came",
			text:  "nothing came: " + err.Error() + "\n" + p.request,
		}
	}
	p.Answer = a
	p.skew.see(a.Header)
	return nil
}

// become has somebody else ask from here on. fresh is a session that begins here; old is the session as it
// was when its cookies were last kept, and forged has its cookies, each with another character.
func (p *player) become(who string) error {
	p.Caller = who
	switch {
	case who == "key2" && p.opt.Key2 == "":
		return &skip{"it needs -key2"}
	case who == "fresh", who == "session" && p.cookies[who] == nil:
		return p.signIn(who)
	case who == "forged":
		p.cookies[who] = nil
		for _, c := range p.cookies["session"] {
			forged := &http.Cookie{Name: c.Name, Value: changed(c.Value)}
			p.cookies[who] = append(p.cookies[who], forged)
		}
	}
	return nil
}

// signIn makes a session. That this works is a rule, too: who cannot sign in fails wherever that is needed.
func (p *player) signIn(who string) error {
	p.cookies[who] = nil
	if err := p.playStep(`POST /v2/auth/idp/login {"idToken":"$idToken"}`); err != nil {
		return err
	}
	return p.Check("200")
}

// keepCookies keeps what an answer sets for the session that has asked.
func (p *player) keepCookies() {
	if p.Caller != "session" && p.Caller != "fresh" {
		return
	}
	for _, c := range (&http.Response{Header: p.Answer.Header}).Cookies() {
		mine := slices.DeleteFunc(slices.Clone(p.cookies[p.Caller]), func(old *http.Cookie) bool {
			return old.Name == c.Name
		})
		if c.MaxAge >= 0 && c.Value != "" {
			mine = append(mine, c)
		}
		p.cookies[p.Caller] = mine
	}
}

// credentials gives a request what shows who asks; key is the partner's.
func (p *player) credentials(h http.Header) (key string, err error) {
	switch p.Caller {
	case "key":
		if key = p.opt.Key; key == "" {
			return "", &skip{"it needs -key"}
		}
	case "key2":
		key = p.opt.Key2
	case "stranger":
		h.Set("x-api-key", "no-such-key")
	case "session", "fresh", "old", "forged":
		r := http.Request{Header: h}
		for _, c := range p.cookies[p.Caller] {
			r.AddCookie(c)
		}
	}
	if key != "" {
		h.Set("x-api-key", key)
	}
	return key, nil
}

// afterAnswer is how long what a server does after its answer may take, unless Options.Await says otherwise.
const afterAnswer = 10 * time.Second
