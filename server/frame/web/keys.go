package web

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"waybill/auth"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// LoadRing reads the keys that sign offers, or makes the first.
func (s *Core) LoadRing() error {
	keys, err := ledger.ReadSecret(s.Config.FS, ledger.RingFile, auth.ParseSigningKeys)
	if errors.Is(err, fs.ErrNotExist) {
		first := auth.NewSigningKey(s.Config.Random, 0)
		return s.SaveRing(auth.NewRing([]auth.SigningKey{first}), func() error { return nil })
	}
	if err != nil {
		return err
	}
	s.Ring.Store(auth.NewRing(keys))
	return nil
}

// SaveRing makes a ring durable and signs with it from then on. record writes that into the journal; it is
// called once there is room for the ring. Where it fails, the ring is not used.
func (s *Core) SaveRing(ring *auth.Ring, record func() error) error {
	err := durable.PublishOnce(s.Config.FS, ledger.KeyDir, ledger.RingFile, func(w io.Writer) error {
		_, err := w.Write(auth.FormatSigningKeys(ring.Keys()))
		return err
	}, record)
	if err == nil {
		s.Ring.Store(ring)
	}
	return err
}

// ExistingSecret reads 32 random bytes, which lie in a file in hex; fs.ErrNotExist where there is none.
func (s *Core) ExistingSecret(name string) ([]byte, error) {
	return ledger.ReadSecret(s.Config.FS, name, ledger.ParseSecret)
}

// Secret reads 32 random bytes as ExistingSecret does, or makes them.
func (s *Core) Secret(name string) ([]byte, error) {
	kept, err := s.ExistingSecret(name)
	if errors.Is(err, fs.ErrNotExist) {
		kept = make([]byte, 32)
		if _, err := io.ReadFull(s.Config.Random, kept); err != nil {
			return nil, err
		}
		err = durable.PublishText(s.Config.FS, ledger.KeyDir, name, fmt.Appendf(nil, "%x\n", kept))
	}
	return kept, err
}
