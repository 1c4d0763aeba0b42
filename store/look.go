package store

import (
	"cmp"
	"log/slog"
	"math"

	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/live"
)

// Look returns the state of a directory at its last whole line, to be looked at. It takes no lock and opens
// nothing for writing, so that it changes no byte, also where a server has the directory open meanwhile. What
// stands after the last whole line is left as it is: a start cuts it, or a server has not ended it yet. The
// store's clock may lie behind the journal; an update that has events is live.ErrLookedAt. Errors: ErrNewer,
// *Damage, and the file system's.
func Look[S, E any](cfg Config[S, E]) (*Store[S, E], error) {
	cfg.FS = durable.ReadOnly(cfg.FS)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	x := start[S, E]{cfg: &cfg, fsys: cfg.FS}
	read := func() error { return x.readWith(math.MaxUint64, chain.InUse{}) }
	// Snapshots and checkpoints come first: the journal, which is read after them, has every line that they
	// prove.
	for _, step := range []func() error{x.thaw, x.newestCheckpoint, read, x.readFirst} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &Store[S, E]{
		Value:   live.Look[S, E](cfg.Now, x.state, x.end.Head),
		cfg:     cfg,
		created: cmp.Or(x.first.Time, x.end.Head.Time),
	}, nil
}
