package front

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Ready asks a server whether it is ready; nil is yes. A certificate is not held against a name that only
// this machine knows.
func Ready(base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	local := IsLoopback(u.Hostname())
	client := http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: local},
		},
	}
	resp, err := client.Get(base + "/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s", base, resp.Status)
	}
	return nil
}

// IsLoopback reports whether a host names this machine to itself.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// thisMachine is the host of an address that names none, or all.
const thisMachine = "127.0.0.1"

// ParseURL reads the URL of a server; http is understood. What it returns has no slash at its end, so that a
// path can follow.
func ParseURL(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	more := err == nil && (u.RawQuery != "" || u.Fragment != "")
	if err != nil || u.Host == "" || more || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not a URL as http://127.0.0.1:8080", text)
	}
	// What a server listens on is given to ready too, by the same variable: of all addresses it asks this
	// one.
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() == "" || ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort(thisMachine, u.Port())
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}
