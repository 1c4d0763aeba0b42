package door_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A cookie that another user of the machine has got hold of lets nobody in: cookies do not tell ports apart.
func TestTheCookieIsGoodForItsOwnUserOnly(t *testing.T) {
	h := newHouse(t)
	cookie := h.enter()
	if resp, body := h.ask("GET", h.URL+"/", "Cookie", cookie); resp.StatusCode != http.StatusOK {
		t.Fatalf("its own user: %d %s", resp.StatusCode, body)
	}
	if _, err := exec.LookPath("curl"); err != nil || os.Getuid() != 0 {
		t.Log("left out: another user, as there is no curl, or no root to become one")
		return
	}
	for _, uid := range []uint32{0, 65534} {
		c := exec.Command("curl", "-sS", "-m", "10", "-H", "Cookie: "+cookie, h.URL+"/")
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if inside := strings.Contains(string(out), "inside"); inside != (uid == 0) {
			t.Errorf("user %d: %s", uid, out)
		}
	}
}
