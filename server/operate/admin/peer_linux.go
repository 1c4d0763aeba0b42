package admin

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"waybill/server/ledger"
)

// errGone is returned for a process that has ended: nothing tells any more which person had logged in.
var errGone = errors.New("admin: the caller has ended")

// peerOf returns who opened the other end of a socket. The kernel has kept the user since then; who logged in
// it only says of a process that is there.
func peerOf(c *net.UnixConn) (ledger.By, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return ledger.By{}, err
	}
	var peer *syscall.Ucred
	var unknown error
	err = raw.Control(func(fd uintptr) {
		peer, unknown = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return ledger.By{}, err
	}
	if unknown != nil {
		return ledger.By{}, unknown
	}
	by := byUser(int(peer.Uid), fmt.Sprintf("/proc/%d/loginuid", peer.Pid))
	// Asked after that was read: a process that has ended before would have been without a login, or another
	// would have had its number. Number 0 is of a process in another container, which cannot be asked about.
	if peer.Pid > 0 && errors.Is(syscall.Kill(int(peer.Pid), 0), syscall.ESRCH) {
		return ledger.By{}, errGone
	}
	return by, nil
}
