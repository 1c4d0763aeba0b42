package door_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/operate/door"
)

// A cookie that another user of the machine has got hold of lets nobody in: cookies do not tell ports apart.
func TestTheCookieIsGoodForItsOwnUserOnly(t *testing.T) {
	h := newHouse(t)
	cookie := h.enter()
	if resp, body := h.ask("GET", h.URL+"/", "Cookie", cookie); resp.StatusCode != http.StatusOK {
		t.Fatalf("its own user: %d %s", resp.StatusCode, body)
	}
	if os.Getuid() != 0 {
		t.Log("left out: another user, as only root can become one")
		return
	}
	for _, uid := range []int{0, nobody} {
		c := dialAs(t, uid, h.Listener.Addr())
		request(t, c, h.Listener.Addr(), cookie)
		answer, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		if inside := strings.Contains(string(answer), "inside"); inside != (uid == 0) {
			t.Errorf("user %d: %s", uid, answer)
		}
	}
}

// Who calls is asked as the connection comes, and kept for it. The kernel says that a closed connection is
// root's, and it does not list one that was reset: whoever leaves at once would be taken for the operator. It
// is tried three times in each way, and with -long ten times.
func TestAPeerThatLeavesIsNotTakenForTheOperator(t *testing.T) {
	times := 3
	if *rig.Long {
		times = 10
	}
	users := []int{os.Getuid()}
	if os.Getuid() == 0 {
		users = append(users, nobody)
	}
	for _, uid := range users {
		for _, how := range []string{"close", "reset"} {
			for _, when := range []string{"before it is asked", "after it was asked"} {
				// The operator may leave once it was found out who has called.
				may := uid == os.Getuid() && when == "after it was asked"
				t.Run(fmt.Sprint(uid, " ", how, " ", when), func(t *testing.T) {
					for range times {
						status := visit(t, uid, how == "reset", when == "before it is asked")
						// 0: not even the request was read. Inside nobody may wait for the answer any more.
						if !may && status != 0 && status != http.StatusForbidden {
							t.Fatalf("it came in: %d", status)
						}
					}
				})
			}
		}
	}
}

// visit asks at a door by a connection that its user ends before or after it is asked whose it is. It returns
// what the door answers, though nobody reads it; 0 where there was no request to answer.
func visit(t *testing.T, uid int, reset, before bool) int {
	h := newHouse(t)
	cookie := h.enter()
	var status atomic.Int64
	d := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w := httptest.NewRecorder()
		h.Config.Handler.ServeHTTP(w, r)
		status.Store(int64(w.Code))
	}))
	addr := d.Listener.Addr()
	c := dialAs(t, uid, addr)
	request(t, c, h.Listener.Addr(), cookie)
	leave := func() {
		if reset {
			c.SetLinger(0)
		}
		c.Close()
	}
	ended := make(chan struct{})
	d.Config.ConnContext = func(ctx context.Context, from net.Conn) context.Context {
		if before {
			leave()
		}
		ctx = door.ConnContext(ctx, from)
		if !before {
			leave()
		}
		return ctx
	}
	d.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			close(ended)
		}
	}
	d.Start()
	defer d.Close()
	<-ended
	return int(status.Load())
}

// nobody is the number of a user who has no directory.
const nobody = 65534

// dialAs opens a connection that belongs to a user: the kernel takes whom the thread acts for on files.
func dialAs(t *testing.T, uid int, to net.Addr) *net.TCPConn {
	t.Helper()
	if uid != os.Getuid() {
		runtime.LockOSThread() // and never unlocked if a call below fails, so that the thread ends
		actFor(uid)
		defer func() {
			actFor(os.Getuid())
			runtime.UnlockOSThread()
		}()
	}
	c, err := net.DialTCP("tcp", nil, to.(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// actFor has the thread act for a user on files, see setfsuid(2): it has no error.
func actFor(uid int) {
	syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0)
}

// request sends a request for a page of the desk at an address.
func request(t *testing.T, c net.Conn, at net.Addr, cookie string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\nConnection: close\r\n\r\n", at, cookie)
	if err != nil {
		t.Fatal(err)
	}
}
