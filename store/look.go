package store

import (
	"cmp"
	"errors"
	"log/slog"

	"waybill/store/durable"
)

// ErrLookedAt is returned by an update of a store that was opened by [Look].
var ErrLookedAt = errors.New("store: the directory is only looked at")

// Look returns the state of a directory at its last whole line, to be looked at. It takes no lock and opens
// nothing for writing, so that it changes no byte, whoever has the directory open meanwhile. What stands
// after the last whole line is left as it is: a start cuts it, or a server has not ended it yet. The store's
// clock may lie behind the journal; an update that has events is ErrLookedAt. Errors: ErrNewer, *Damage, and
// the file system's.
func Look[S, E any](cfg Config[S, E]) (*Store[S, E], error) {
	cfg.FS = durable.ReadOnly(cfg.FS)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := replay[S, E]{
		cfg: cfg,
		scan: scan{
			fsys: cfg.FS,
			live: true,
		},
	}
	r.visits.Prepare = r.decode
	r.visits.Visit = r.apply
	// Snapshots and checkpoints come first: the journal that is read after them has all that they prove.
	for _, step := range []func() error{r.thaw, r.newestCheckpoint, r.run, r.readCreated} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &Store[S, E]{
		cfg:      cfg,
		lookedAt: true,
		state:    r.state,
		seq:      r.head.Seq,
		last:     r.head.Time,
		head:     r.head,
		created:  cmp.Or(r.first.Time, r.head.Time),
		pending:  newBatch[E](),
		failed:   make(chan struct{}),
	}, nil
}
