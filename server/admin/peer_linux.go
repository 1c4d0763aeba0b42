package admin

import (
	"fmt"
	"net"
	"syscall"

	"waybill/server/ledger"
)

// peerOf returns who opened the other end of a socket, as the kernel saw it then.
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
	return byUser(int(peer.Uid), fmt.Sprintf("/proc/%d/loginuid", peer.Pid)), nil
}
