package door

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// mayCome reports whether a connection comes from a process of the door's own user, or of root. The kernel
// lists connections with who has them; what it does not list for certain may not come.
func mayCome(c net.Conn) bool {
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		return false
	}
	remote, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return false
	}
	uid, err := ownerOf(remote, local)
	if err != nil {
		return false
	}
	// While the door's own end stands, no other connection can have both addresses: what was listed of the
	// other end was of this connection.
	_, err = ownerOf(local, remote)
	return err == nil && isOperator(uid)
}

// isOperator reports whether a user may act as the one who has opened the door: the same, or who has opened
// it by sudo, whose browser is not root's. Root may not: what root does would bear the name of another.
func isOperator(uid int) bool {
	return mayActAs(os.Getuid(), uid, os.Getenv("SUDO_UID"))
}

// mayActAs is isOperator of a door that belongs to a user, opened by sudo by another, if not "".
func mayActAs(own, uid int, sudo string) bool {
	const root = 0
	return uid == own || own == root && sudo == strconv.Itoa(uid)
}

// errNoConnection is of a connection that the kernel does not list as one that stands: of another machine, or
// one that is over.
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
// queues, timer, retransmissions, user, timeout, inode (proc_net_tcp, in the kernel's documentation).
func findOwner(file, end, other string) (uid int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	const (
		state       = 3 // fields
		user        = 7
		inode       = 9
		established = "01" // no end of it has been closed
		none        = "0"  // no process has it any more, and the user is said to be 0
	)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) <= inode || fields[1] != end || fields[2] != other {
			continue
		}
		if fields[state] == established && fields[inode] != none {
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
