package store

import "waybill/store/checkpoint"

// Start says how Open finds a directory, before it writes anything to it.
type Start struct {
	Head Head // the last line; zero where there is none
	// Copy reports that there are lines and no key to sign more: the directory is a backup, a standby, or
	// what a repair has written, and gets a name of its own by its first start.
	Copy bool
}

// ready asks whoever opens the directory whether the journal may go on.
func (r *replay[S, E]) ready() error {
	if r.cfg.Ready == nil {
		return nil
	}
	key, err := checkpoint.PrivateKey(r.fsys)
	if err != nil {
		return err
	}
	return r.cfg.Ready(r.state, Start{
		Head: r.head,
		Copy: key == nil && r.head.Seq > 0,
	})
}
