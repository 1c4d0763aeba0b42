package inspect

import (
	"errors"
	"fmt"
	"slices"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Merged returns the error of a directory, which says so where it looks as if a copy was put into one that
// was there, as by cp -a backup/. data/: the key is not the copy's, or files stayed that are of later lines
// than its newest note. Any error but damage is returned as it is.
func Merged(fsys durable.ReadFS, err error) error {
	damage, is := errors.AsType[*journal.Damage](err)
	if !is || damage.Books || damage.Forked != "" {
		return err
	}
	private, wrong := checkpoint.PrivateKey(fsys)
	public, _ := checkpoint.PublicKey(fsys)
	signed, _ := checkpoint.Newest(fsys)
	newest, unread := checkpoint.Parse(signed, public)
	journals, _ := journal.Numbers(fsys, "journal")
	snapshots, _ := journal.Numbers(fsys, "snapshots")
	last := slices.Max(append(append(snapshots, journals...), 0))
	stayed := unread == nil && private != nil && last > newest.Seq+1
	other, is := errors.AsType[*journal.Damage](wrong)
	if stayed || is && other.File == checkpoint.PublicKeyFile {
		err = fmt.Errorf("%w; it looks as if a copy was put into this directory, whose own files are still "+
			"there (as by cp -a backup/. data/): put the copy where nothing is, and serve that", err)
	}
	return err
}
