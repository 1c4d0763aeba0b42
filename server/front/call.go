package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"waybill/server/frame/web"
	"waybill/server/operate/admin"
)

// Unheard is an output whose reader does not decide what becomes of an act: it goes on when nobody reads any
// more.
type Unheard struct{ io.Writer }

// Write passes on what is written, and reports no error of that.
func (u Unheard) Write(b []byte) (int, error) {
	u.Writer.Write(b)
	return len(b), nil
}

// errEnded is the error of a server that took the act and never said what became of it.
var errEnded = errors.New("the server ended before it answered; it is not known whether this was done")

// Call asks the running server to do an administrative act, over the directory's socket, and writes what it
// says. Where no server runs, the error is of the socket: syscall.ENOENT or syscall.ECONNREFUSED.
func Call(path, op string, form url.Values, out io.Writer) error {
	return call(context.Background(), path, op, form, out)
}

// call is Call until a context ends.
func call(ctx context.Context, path, op string, form url.Values, out io.Writer) error {
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return web.DialSocket(ctx, path)
		},
	}}
	defer client.CloseIdleConnections()
	body := strings.NewReader(form.Encode())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://waybill/"+op, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := client.Do(req)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		err = errEnded
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refusal(resp)
	}
	if _, err := io.Copy(Unheard{out}, resp.Body); err != nil {
		return errEnded
	}
	// How it ended is known only after all that it said, so the error comes in a trailer.
	if text, err := url.QueryUnescape(resp.Trailer.Get(admin.ErrorTrailer)); text != "" || err != nil {
		return errors.New(text)
	}
	return nil
}

// refusal returns why the running server did not take an act on, in its own words.
func refusal(resp *http.Response) error {
	const most = 1 << 10 // bytes
	said, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil || len(said) == 0 {
		return fmt.Errorf("the server answered %s without a reason", resp.Status)
	}
	return fmt.Errorf("the server refused: %s", strings.TrimSpace(string(said)))
}
