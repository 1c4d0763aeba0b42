package door

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// mayCome reports whether a request comes from a process of the door's own user, or of root. The kernel lists
// connections with who has them. Where it does not list even the door's own end of this one, nothing is known
// of anybody, and everybody may come.
func mayCome(r *http.Request) bool {
	here, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	local, err := netip.ParseAddrPort(here.String())
	if err != nil {
		return false
	}
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	if _, err := ownerOf(local, remote); err != nil {
		return true
	}
	uid, err := ownerOf(remote, local)
	return err == nil && isOperator(uid)
}

// isOperator reports whether a user may act as the one who has opened the door: the same, root, or who has
// opened it by sudo, whose browser is not root's.
func isOperator(uid int) bool {
	if os.Getuid() == 0 && os.Getenv("SUDO_UID") == strconv.Itoa(uid) {
		return true
	}
	return uid == os.Getuid() || uid == 0
}

// errNoConnection is of a connection that the kernel does not list: of another machine, or one that is over.
var errNoConnection = errors.New("door: there is no such connection")

// ownerOf returns the user who has one end of a connection, by its address and the other end's.
func ownerOf(end, other netip.AddrPort) (uid int, err error) {
	for _, list := range []struct {
		file string
		form func(netip.AddrPort) string
	}{
		{"/proc/net/tcp", listed4},
		{"/proc/net/tcp6", listed6},
	} {
		// A machine may have only one of the two lists.
		uid, err = findOwner(list.file, list.form(end), list.form(other))
		if err == nil {
			return uid, nil
		}
	}
	return 0, err
}

// findOwner looks for a connection in one of the kernel's lists: number, one end, the other end, state,
// queues, timer, retransmissions, user.
func findOwner(file, end, other string) (uid int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	const user = 7 // the field
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > user && fields[1] == end && fields[2] == other {
			return strconv.Atoi(fields[user])
		}
	}
	return 0, errNoConnection
}

// listed4 returns an address as the kernel's list of IPv4 has it, "" of another.
func listed4(a netip.AddrPort) string {
	if !a.Addr().Unmap().Is4() {
		return ""
	}
	ip := a.Addr().Unmap().As4()
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), a.Port())
}

// listed6 returns an address as the kernel's list of IPv6 has it: four words in the machine's order.
func listed6(a netip.AddrPort) string {
	ip := a.Addr().As16()
	var b strings.Builder
	for i := 0; i < len(ip); i += 4 {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(ip[i:]))
	}
	return fmt.Sprintf("%s:%04X", b.String(), a.Port())
}
