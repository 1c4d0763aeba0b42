//go:build !linux

package admin

import (
	"net"

	"waybill/server/ledger"
)

// peerOf returns the owner of the directory, who is the only one besides root that can open its socket: the
// standard library cannot ask who did.
func peerOf(*net.UnixConn) (ledger.By, error) {
	return Self(), nil
}
