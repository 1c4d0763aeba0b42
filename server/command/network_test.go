package command

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server/front"
)

// writePair writes a new certificate for 127.0.0.1, which is its own authority, and its key. The files have
// the same time each time, as those of some tools.
func writePair(t *testing.T, cert, key string, serial int64, life time.Duration) *x509.Certificate {
	t.Helper()
	private, _ := ecdsa.GenerateKey(elliptic.P256(), nil)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		NotAfter:     time.Now().Add(life),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(nil, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, _ := x509.MarshalPKCS8PrivateKey(private)
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der},
		key:  {Type: "PRIVATE KEY", Bytes: pkcs8},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	made, _ := x509.ParseCertificate(der)
	return made
}

// -tls-cert and -tls-key: TLS 1.2 at least, HTTP/1.1, Secure cookies, whole replies; a new certificate is
// served as soon as it is there, and one that cannot be read leaves the former in force.
func TestServeOverTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert := filepath.Join(dir, "cert.pem")
	key := filepath.Join(dir, "key.pem")
	pool := x509.NewCertPool()
	pool.AddCert(writePair(t, cert, key, 1, time.Hour))
	s := serveTLS(t, pool, "-data", filepath.Join(dir, "data"), "-tls-cert", cert, "-tls-key", key)
	get := func(want int64) *http.Response {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: pool},
			ForceAttemptHTTP2: true,
			DisableKeepAlives: true,
		}}
		resp, err := client.Get("https://" + s.addr +
			"/v2/offers/schedule?departureCitySlug=kyiv&arrivalCitySlug=lviv&days=14&date=" +
			time.Now().Format(time.DateOnly))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || len(body) < 8<<10 ||
			int64(len(body)) != resp.ContentLength || resp.ProtoMajor != 1 {
			t.Fatalf("%d, %s, %d bytes of %d, %v", resp.StatusCode, resp.Proto, len(body), resp.ContentLength,
				err)
		}
		if got := resp.TLS.PeerCertificates[0].SerialNumber.Int64(); got != want {
			t.Errorf("certificate %d, want %d", got, want)
		}
		return resp
	}
	get(1)
	pool.AddCert(writePair(t, cert, key, 2, time.Hour))
	get(2)
	if err := os.WriteFile(cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	get(2)
	os.Remove(key)
	get(2)
	pool.AddCert(writePair(t, cert, key, 3, time.Hour))
	get(3)
	if c, err := tls.Dial("tcp", s.addr, &tls.Config{
		RootCAs:    pool,
		MaxVersion: tls.VersionTLS11,
		MinVersion: tls.VersionTLS10,
	}); err == nil {
		c.Close()
		t.Error("TLS 1.1 is spoken")
	}
	token := strings.TrimSpace(want(t, 0, "^ey", "idtoken", "-data", filepath.Join(dir, "data"), "-email",
		"demo@example.com"))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	resp, err := client.Post("https://"+s.addr+"/v2/auth/idp/login", "application/json",
		strings.NewReader(`{"idToken":"`+token+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if cookies := resp.Cookies(); len(cookies) != 2 || !cookies[0].Secure || !cookies[1].Secure {
		t.Errorf("%d %v", resp.StatusCode, cookies)
	}
	client.CloseIdleConnections()
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// Decision connections.limit: what cannot be used is not taken for what is in use, and is told once; of a
// certificate that ends soon there is one WARN a day.
func TestACertificateIsRenewedOrTold(t *testing.T) {
	dir := t.TempDir()
	cert := filepath.Join(dir, "cert.pem")
	key := filepath.Join(dir, "key.pem")
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		pair := &front.Certificate{Cert: cert, Key: key, Log: slog.New(slog.NewTextHandler(&logged, nil))}
		get := func(serial int64, warnings int) {
			t.Helper()
			for range 2 {
				got, err := pair.Get(nil)
				if err != nil || got.Leaf.SerialNumber.Int64() != serial {
					t.Fatalf("serial %v, %v, want %d", got.Leaf.SerialNumber, err, serial)
				}
			}
			if n := strings.Count(logged.String(), "level=WARN"); n != warnings {
				t.Errorf("%d warnings, want %d\n%s", n, warnings, &logged)
			}
		}
		const day = 24 * time.Hour
		writePair(t, cert, key, 1, 15*day)
		get(1, 0)
		old, err := os.ReadFile(key)
		if err != nil {
			t.Fatal(err)
		}
		writePair(t, cert, key, 2, 15*day)
		renewed, err := os.ReadFile(key)
		if err != nil {
			t.Fatal(err)
		}
		rewrite := func(name string, text []byte) {
			at := time.Unix(1, 0)
			if err := errors.Join(os.WriteFile(name, text, 0o600), os.Chtimes(name, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		rewrite(key, old) // not yet the one that fits
		get(1, 1)
		rewrite(key, renewed)
		get(2, 1)
		time.Sleep(day)
		get(2, 2)
		time.Sleep(day - time.Second)
		get(2, 2)
		time.Sleep(time.Second)
		get(2, 3)
		writePair(t, cert, key, 3, 90*day)
		time.Sleep(day)
		get(3, 3)
		if err := errors.Join(os.Remove(key), syscall.Mkfifo(key, 0o600)); err != nil {
			t.Fatal(err)
		}
		get(3, 4) // nobody writes into the pipe, and no handshake waits for it
		writePair(t, cert, filepath.Join(dir, "other.pem"), 4, 90*day)
		if err := os.Rename(filepath.Join(dir, "other.pem"), key); err != nil {
			t.Fatal(err)
		}
		get(4, 4)
		if said := logged.String(); !strings.Contains(said, cert) || strings.Contains(said, "PRIVATE") {
			t.Error(said)
		}
	})
}

// Decision verbs.exits: what the command line alone shows wrong is 2; a certificate that cannot be read, 78.
func TestNetworkFlags(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for _, c := range []struct {
		code       int
		want, args string
	}{
		{2, "give -tls-cert and -tls-key together", "-tls-cert x"},
		{2, "give -tls-cert and -tls-key together", "-tls-key x"},
		{78, "-tls-cert, -tls-key: open x", "-tls-cert x -tls-key y"},
		{2, "-trusted-proxy", "-trusted-proxy 10.0.0.1"},
		{2, "-trusted-proxy", "-trusted-proxy 10.0.0.0/8,proxy"},
		{2, "-cors-origin", "-cors-origin https://*.example"},
		{2, "-cors-origin", "-cors-origin https://a.example:443"},
		{2, "-cors-origin", "-cors-origin *"},
		{2, "-cors-origin", "-cors-origin null"},
		{2, "-cors-origin", "-cors-origin https://a.example/"},
		{2, "-cors-origin", "-cors-origin https://A.example"},
		{2, "-cors-origin", "-cors-origin ftp://a.example"},
		{2, "-rate", "-rate 5"},
		{2, "-rate", "-rate 0/s"},
		{2, "-rate", "-rate 5/s:"},
		{2, "-rate", "-rate 5/s:0"},
		{2, "-rate", "-rate 5/m"},
		{2, "-rate", "-rate -1/s"},
		{2, "-rate", "-rate 5/s:2000000"},
	} {
		want(t, c.code, c.want, append([]string{"serve", "-addr", "127.0.0.1:0", "-data", dir},
			strings.Fields(c.args)...)...)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a refused flag has left a directory")
	}
	s := serve(t, "-data", dir, "-rate", "1/s:2", "-trusted-proxy", "127.0.0.0/8,::1/128", "-cors-origin",
		"https://a.example,https://b.example:8443")
	var codes []string
	for i := range 6 {
		r, _ := http.NewRequest("GET", "http://"+s.addr+"/v2/cities/kyiv", nil)
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i/3))
		r.Header.Set("Origin", "https://b.example:8443")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		codes = append(codes, fmt.Sprint(resp.StatusCode,
			resp.Header.Get("Access-Control-Allow-Origin") == "https://b.example:8443"))
	}
	if got := strings.Join(codes, ", "); got != "200 true, 200 true, 429 true, 200 true, 200 true, 429 true" {
		t.Error(got)
	}
	status, body := s.get(t, "/metrics", "")
	if status != 200 ||
		!strings.Contains(body, "\nwaybill_open_connections ") ||
		strings.Contains(body, "\nwaybill_open_connections 0\n") {
		t.Error("the open connections are not counted")
	}
}
