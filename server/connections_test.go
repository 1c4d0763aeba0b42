package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
)

// Decision connections.limit: a poll that waits is idle; 64 of a partner wait, and others are answered at
// once.
func TestPollsThatWait(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := web.Listener(tcp, 4*(web.MaxPolls+2), web.AddressShare, nil, web.NewBacklog(web.Backlogs))
	front := &http.Server{Handler: s, ConnContext: web.ConnContext}
	go front.Serve(ln)
	defer front.Close()
	poll := func() net.Conn {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET /v2/events?wait=30 HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n\r\n", key)
		return c
	}
	waiting := s.PartnerRoom().Polls.Count
	// One after the other, so that the first is the longest idle.
	var all []net.Conn
	for n := range web.MaxPolls {
		all = append(all, poll())
		rig.Eventually(t, "a further poll waits", func() bool { return waiting() == n+1 && ln.Busy() == 0 })
	}
	resp, err := http.ReadResponse(bufio.NewReader(poll()), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("one more is not answered at once: %v, %v", resp, err)
	}
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), `"events":[]`) {
		t.Errorf("%s", body)
	}
	// Others need the address' places: the polls make way, the longest first.
	for range 8 {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
	}
	rig.Eventually(t, "some polls have made way", func() bool { return waiting() < web.MaxPolls })
	all[0].SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := all[0].Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the longest idle poll is still there: %v", err)
	}
}
