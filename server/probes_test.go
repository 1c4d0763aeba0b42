package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
)

// Decision connections.limit: probes always have room. Where no connection is idle a few more are accepted,
// of which the longest idle makes way; nothing but a probe is answered there.
func TestProbesAlwaysHaveRoom(t *testing.T) {
	s, key := rig.Demo(t, server.Config{Origins: []string{"https://shop.example.com"}})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := web.Listener(tcp, 8, web.AddressShare, nil, web.NewBacklog(web.Backlogs))
	front := &http.Server{Handler: s, ConnContext: web.ConnContext}
	go front.Serve(ln)
	defer front.Close()
	ask := func(path string) (status int, retry, allowed string, closes bool) {
		t.Helper()
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n", path, key)
		fmt.Fprint(c, "Origin: https://shop.example.com\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return 0, "", "", false
		}
		return resp.StatusCode, resp.Header.Get("Retry-After"),
			resp.Header.Get("Access-Control-Allow-Origin"), resp.Close
	}
	// Bodies that are still coming keep connections busy: two are the address' share.
	for range 2 {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c,
			"POST /v2/bookings HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nContent-Length: 100\r\n\r\n{", key)
	}
	rig.Eventually(t, "both are busy", func() bool { return ln.Busy() == 2 })
	// Nor do probes hold the places that are for probes, whatever they announce.
	for range 2 * web.SpareConnections {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	}
	for range 3 * web.SpareConnections {
		if status, _, _, _ := ask("/readyz"); status != 200 {
			t.Fatalf("a probe gets %d", status)
		}
	}
	if status, retry, allowed, closes := ask("/v2/bookings"); status != 503 || retry == "" || allowed == "" ||
		!closes {
		t.Errorf("another request gets %d, Retry-After %q, for the origin %q, and its connection is closed: %t",
			status, retry, allowed, closes)
	}
}
