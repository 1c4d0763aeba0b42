package front

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"waybill/server/frame/web"
)

// Ready asks a server whether it is ready; nil is yes. The answer is waited for so long. A certificate is not
// held against a name that only this machine knows.
func Ready(base string, within time.Duration) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	local := web.IsLoopback(u.Hostname())
	client := http.Client{
		Timeout: within,
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

// thisMachine is the host of an address that names none, or all.
const thisMachine = "127.0.0.1"

// ParseURL reads the URL of a server, or the host and port that it listens at: then http is understood. What
// it returns has no slash at its end, so that a path can follow.
func ParseURL(text string) (string, error) {
	whole := text
	if !strings.Contains(text, "://") {
		// Without a port a word would be a host: what was meant for something else would be asked for.
		if _, port, err := net.SplitHostPort(text); err != nil || port == "" {
			return "", errNoURL(text)
		}
		whole = "http://" + text
	}
	u, err := url.Parse(whole)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errNoURL(text)
	}
	if u.Scheme != "http" && u.Scheme != "https" || !isPort(u.Port()) {
		return "", errNoURL(text)
	}
	// What a server listens on is given to ready too, by the same variable: of all addresses it asks this
	// one.
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() == "" || ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort(thisMachine, u.Port())
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// errNoURL is the error of a text that is no URL of a server.
func errNoURL(text string) error {
	return fmt.Errorf("%q is not a URL as in http://127.0.0.1:8080", text)
}

// isPort reports whether the port of a URL can be one. "" is that of its scheme.
func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}
