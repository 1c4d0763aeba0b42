package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"
)

// A By says who did an administrative act (contract §1). Every line that such an act writes has it in its
// data.
type By struct {
	UID   int    `json:"uid"`             // the effective user id of the calling process
	User  string `json:"user,omitempty"`  // its name; "" where the machine knows none
	Login string `json:"login,omitempty"` // who logged in, where the kernel knows: sudo and su leave it as it is
}

// String returns the user as `log` shows it: olena (1000).
func (b By) String() string {
	name := fmt.Sprintf("%s (%d)", b.User, b.UID)
	if b.User == "" {
		name = strconv.Itoa(b.UID)
	}
	if b.Login != "" && b.Login != b.User {
		name += ", logged in as " + b.Login
	}
	return name
}

// Self returns who this process belongs to.
func Self() By { return byUser(os.Geteuid(), "/proc/self/loginuid") }

// byUser names a user; loginFile is where Linux keeps who logged in (proc(5)).
func byUser(uid int, loginFile string) By {
	by := By{UID: uid}
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

type callerKey struct{}

// AdminConnContext is for http.Server.ConnContext of the server that [Server.AdminHandler] answers: it
// finds out who is at the other end of the directory's socket.
func AdminConnContext(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*net.UnixConn); ok {
		if by, err := peerOf(c); err == nil {
			return context.WithValue(ctx, callerKey{}, by)
		}
	}
	return ctx
}

// attributed is an event of an administrative act, on its way into the journal. Who did it changes no
// state, so that what is read from the journal is the bare event.
type attributed struct {
	Event
	by By
}

// plainEvent returns the event that changes the state.
func plainEvent(e Event) Event {
	if a, ok := e.(*attributed); ok {
		return a.Event
	}
	return e
}

// appendBy adds the member to a data object, as its last.
func appendBy(data []byte, by By) []byte {
	text, err := json.Marshal(by)
	if err != nil {
		panic(err) // a number and two strings
	}
	data = bytes.TrimSuffix(data, []byte("}"))
	if !bytes.HasSuffix(data, []byte("{")) {
		data = append(data, ',')
	}
	data = append(data, `"by":`...)
	return append(append(data, text...), '}')
}

// readBy returns who a line's data says has written it; nil where it does not. The marker cannot stand in a
// string of the data, whose quotes are escaped.
func readBy(data []byte) *By {
	if !bytes.Contains(data, []byte(`"by":{"uid":`)) {
		return nil
	}
	var line struct{ By *By }
	if json.Unmarshal(data, &line) != nil {
		return nil
	}
	return line.By
}

// withoutBy returns a line's data without who did it.
func withoutBy(data []byte) []byte {
	start := bytes.Index(data, []byte(`"by":{"uid":`))
	if start < 0 {
		return data
	}
	end := bytes.IndexByte(data[start:], '}')
	before := bytes.TrimSuffix(data[:start], []byte(","))
	return append(bytes.Clone(before), data[start+end+1:]...)
}

// administer journals the event that decide returns, with who did it, and returns the number of its line.
func (s *Server) administer(by By, decide func(*State, time.Time) (Event, error)) (seq uint64, err error) {
	return s.do(func(st *State, now time.Time) (Event, error) {
		e, err := decide(st, now)
		if e == nil || err != nil {
			return nil, err
		}
		return &attributed{e, by}, nil
	})
}
