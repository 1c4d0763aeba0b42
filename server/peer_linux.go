package server

import (
	"fmt"
	"net"
	"syscall"
)

// peerOf returns who opened the other end of a socket, as the kernel saw it then.
func peerOf(c *net.UnixConn) (By, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return By{}, err
	}
	var peer *syscall.Ucred
	var unknown error
	err = raw.Control(func(fd uintptr) {
		peer, unknown = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return By{}, err
	}
	if unknown != nil {
		return By{}, unknown
	}
	return byUser(int(peer.Uid), fmt.Sprintf("/proc/%d/loginuid", peer.Pid)), nil
}
