package admin

import (
	"context"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"waybill/server/ledger"
)

// Self returns who this process belongs to.
func Self() ledger.By {
	return byUser(os.Geteuid(), "/proc/self/loginuid")
}

// byUser names a user; loginFile is where Linux keeps who logged in (proc(5)). Whoever becomes another
// user, as by sudo, has the login still: that is the person an auditor asks for.
func byUser(uid int, loginFile string) ledger.By {
	by := ledger.By{UID: uid}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		by.User = u.Username
	}
	const nobody = "4294967295" // the process descends from no login
	text, _ := os.ReadFile(loginFile)
	login := strings.TrimSpace(string(text))
	if login == "" || login == nobody {
		return by
	}
	by.Login = login
	if u, err := user.LookupId(login); err == nil {
		by.Login = u.Username
	}
	return by
}

// callerKey is what the author of an act is known by in a connection's context.
type callerKey struct{}

// Caller returns who is at the other end of the directory's socket; false where the kernel did not say.
func Caller(ctx context.Context) (ledger.By, bool) {
	by, known := ctx.Value(callerKey{}).(ledger.By)
	return by, known
}

// ConnContext is for http.Server.ConnContext of the server that [Executor.Handler] answers: it
// finds out who is at the other end of the directory's socket.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*net.UnixConn); ok {
		if by, err := peerOf(c); err == nil {
			return context.WithValue(ctx, callerKey{}, by)
		}
	}
	return ctx
}

// administer journals the event that decide returns, with who did it.
func (s *Executor) administer(by ledger.By,
	decide func(ledger.State, time.Time) (ledger.Event, error)) error {
	_, err := s.Store.Update(func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		e, err := decide(st, now)
		if err != nil {
			return nil, err
		}
		return []ledger.Entry{{
			Event: e,
			By:    &by,
		}}, nil
	}, nil)
	return err
}
