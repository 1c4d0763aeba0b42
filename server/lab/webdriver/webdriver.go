// Package webdriver drives a browser without a window, for tests of pages: over the WebDriver protocol (W3C),
// which browsers speak by a program of their own, here chromedriver.
//
//	b, err := webdriver.Start()        // ErrNoBrowser: leave the test out, and say so
//	defer b.Close()
//	err = b.Go("http://127.0.0.1:8082/")
//	err = b.Click("main button")
//	title, err := b.Text("h1")
//
// It is for tests only, and knows nothing of what it tests.
package webdriver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"waybill/server/lab/ports"
)

// ErrNoBrowser is returned where there is no browser to drive, or none that starts here: in some containers
// it cannot.
var ErrNoBrowser = errors.New("there is no chromium and chromedriver that start")

// Browser is a browser with one window.
type Browser struct {
	driver  *exec.Cmd
	ended   chan struct{} // closed once the driver has ended
	session string        // the URL of the session; "" is none
	client  http.Client
}

const (
	startTime = 30 * time.Second // in which a driver and its browser are there, on a busy machine
	patience  = 60 * time.Second // for one command
	awaitTime = 10 * time.Second // for a page
)

// Start starts a browser.
func Start() (*Browser, error) {
	driver, err := exec.LookPath("chromedriver")
	if err != nil {
		return nil, ErrNoBrowser
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return nil, ErrNoBrowser
	}
	port, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	b := &Browser{
		driver: exec.Command(driver, fmt.Sprint("--port=", port)),
		ended:  make(chan struct{}),
		client: http.Client{Timeout: patience},
	}
	if err := b.driver.Start(); err != nil {
		return nil, err
	}
	go func() {
		b.driver.Wait() // its exit code says that it was killed
		close(b.ended)
	}()
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	err = b.await(base)
	if err == nil {
		err = b.open(base, chromium)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoBrowser, errors.Join(err, b.Close()))
	}
	return b, nil
}

// await waits until the driver listens.
func (b *Browser) await(base string) error {
	for end := time.Now().Add(startTime); ; {
		resp, err := b.client.Get(base + "/status")
		if err == nil {
			return resp.Body.Close()
		}
		if time.Now().After(end) {
			return err
		}
		select {
		case <-b.ended:
			return fmt.Errorf("the driver has ended: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// open opens the window.
func (b *Browser) open(base, chromium string) error {
	var made struct {
		SessionID string `json:"sessionId"`
	}
	err := b.call("POST", base+"/session", object{"capabilities": object{"alwaysMatch": object{
		"goog:chromeOptions": object{
			"binary": chromium,
			// The sandbox needs privileges that a container often has not; the pages are our own.
			"args": []string{"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"},
		},
		"goog:loggingPrefs": object{"browser": "ALL"},
	}}}, &made)
	if err == nil {
		b.session = base + "/session/" + made.SessionID
	}
	return err
}

// Close ends the browser.
func (b *Browser) Close() error {
	if b.session != "" {
		b.call("DELETE", b.session, nil, nil) // the driver ends in any case
	}
	b.driver.Process.Kill()
	<-b.ended
	return nil
}

// object is a JSON object.
type object map[string]any

// call sends a command, and reads the value of its answer.
func (b *Browser) call(method, url string, body, value any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequest(method, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := b.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("webdriver: %s %s: %s", method, url[strings.LastIndexByte(url, '/'):], answer)
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(answer, &struct{ Value any }{value})
}

// do sends a command of the session.
func (b *Browser) do(method, command string, body, value any) error {
	return b.call(method, b.session+command, body, value)
}

// Go opens an address, and returns once the page is there.
func (b *Browser) Go(url string) error {
	return b.do("POST", "/url", object{"url": url}, nil)
}

// Resize gives the window a size, in pixels.
func (b *Browser) Resize(width, height int) error {
	// A window has a least width; what a page sees may be narrower.
	return b.command("Emulation.setDeviceMetricsOverride", object{
		"width":             width,
		"height":            height,
		"deviceScaleFactor": 1,
		"mobile":            false,
	}, nil)
}

// Dark has pages see that the user likes dark ones, or light ones.
func (b *Browser) Dark(dark bool) error {
	value := "light"
	if dark {
		value = "dark"
	}
	return b.command("Emulation.setEmulatedMedia", object{
		"features": []object{{"name": "prefers-color-scheme", "value": value}},
	}, nil)
}

// Reset has the browser be as it was at its start: on an empty page, of its own size and light, without
// cookies and with a silent console.
func (b *Browser) Reset() error {
	_, err := b.Complaints()
	return errors.Join(
		err,
		b.Go("about:blank"),
		b.command("Network.clearBrowserCookies", object{}, nil),
		b.command("Emulation.clearDeviceMetricsOverride", object{}, nil),
		b.command("Emulation.setEmulatedMedia", object{}, nil),
	)
}

// command sends a command of the browser's own.
func (b *Browser) command(name string, params object, value any) error {
	return b.do("POST", "/goog/cdp/execute", object{"cmd": name, "params": params}, value)
}

// Element is a part of a page, until that changes.
type Element struct{ id string }

// elementKey is how the protocol marks an element.
const elementKey = "element-6066-11e4-a52e-4f735466cecf"

// find finds the first element by a CSS selector.
func (b *Browser) find(selector string) (Element, error) {
	var found map[string]string
	err := b.do("POST", "/element", object{"using": "css selector", "value": selector}, &found)
	return Element{found[elementKey]}, err
}

// Text returns the text of the first element of a selector, as it is seen.
func (b *Browser) Text(selector string) (text string, err error) {
	e, err := b.find(selector)
	if err != nil {
		return "", err
	}
	err = b.do("GET", "/element/"+e.id+"/text", nil, &text)
	return text, err
}

// Await waits until the first element of a selector is seen with all of some texts: a click may return before
// the page that it leads to is there. It returns the text that was seen last, and whether all were in it.
func (b *Browser) Await(selector string, wanted ...string) (seen string, found bool) {
	for end := time.Now().Add(awaitTime); ; {
		text, err := b.Text(selector)
		if err == nil { // else the page is just being replaced
			seen = text
		}
		found = err == nil && !slices.ContainsFunc(wanted, func(text string) bool {
			return !strings.Contains(seen, text)
		})
		if found || time.Now().After(end) {
			return seen, found
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Click clicks the first element of a selector, and returns once a page that it leads to is there.
func (b *Browser) Click(selector string) error {
	e, err := b.find(selector)
	if err != nil {
		return err
	}
	return b.do("POST", "/element/"+e.id+"/click", object{}, nil)
}

// Type empties the first field of a selector, and types a text into it.
func (b *Browser) Type(selector, text string) error {
	e, err := b.find(selector)
	if err != nil {
		return err
	}
	if err := b.do("POST", "/element/"+e.id+"/clear", object{}, nil); err != nil {
		return err
	}
	return b.do("POST", "/element/"+e.id+"/value", object{"text": text}, nil)
}

// Choose chooses files in the first field of a selector.
func (b *Browser) Choose(selector string, files ...string) error {
	e, err := b.find(selector)
	if err != nil {
		return err
	}
	return b.do("POST", "/element/"+e.id+"/value", object{"text": strings.Join(files, "\n")}, nil)
}

// Press presses a key on whatever has the focus, by the code point that the protocol gives it: see [Tab].
func (b *Browser) Press(key rune) error {
	return b.do("POST", "/actions", object{"actions": []object{{
		"type": "key",
		"id":   "keyboard",
		"actions": []object{
			{"type": "keyDown", "value": string(key)},
			{"type": "keyUp", "value": string(key)},
		},
	}}}, nil)
}

// Keys of the protocol.
const (
	Tab   rune = '\uE004'
	Enter rune = '\uE007'
)

// Run runs a script in the page and reads what it returns. A promise is waited for.
func (b *Browser) Run(script string, value any, args ...any) error {
	if args == nil {
		args = []any{}
	}
	return b.do("POST", "/execute/sync", object{"script": script, "args": args}, value)
}

// Complaint is a line of the browser's console.
type Complaint struct{ Level, Message string }

// Complaints returns what the browser's console has since it was asked last.
func (b *Browser) Complaints() (list []Complaint, err error) {
	err = b.do("POST", "/se/log", object{"type": "browser"}, &list)
	return list, err
}

// PrintToPDF prints the page on A4.
func (b *Browser) PrintToPDF() ([]byte, error) {
	var text string
	err := b.do("POST", "/print", object{
		"page":        object{"width": 21.0, "height": 29.7},
		"margin":      object{"top": 0, "bottom": 0, "left": 0, "right": 0},
		"shrinkToFit": false,
	}, &text)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}
