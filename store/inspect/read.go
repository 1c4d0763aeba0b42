package inspect

import (
	"slices"

	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Read goes through the whole journal from line 1, checks it, and calls visit for each line. It only reads
// and takes no lock. Where live says that a server is writing the journal, an unfinished end is the server's
// and is left out.
func Read(fsys durable.ReadFS, live bool, visit func(journal.Place, *journal.Line) error) (Report, error) {
	names, err := chain.NewNames(fsys)
	if err != nil {
		return Report{}, err
	}
	visits := chain.Visits{Visit: func(v *chain.Visited) error {
		return visit(v.At, &v.Line)
	}}
	observers := []chain.Observer{
		chain.NewErasures(),
		new(chain.Repairs),
		names,
		&visits,
	}
	if live {
		observers = slices.Insert(observers, 0, chain.Observer(chain.InUse{}))
	}
	end, err := visits.Read(chain.Reader{FS: fsys, Parse: chain.Strict}, observers...)
	return Report{
		Head:  end.Head,
		Files: end.Files,
		Torn:  end.Torn,
	}, err
}

// Follow goes through the lines after one of a journal that may be in use, and calls visit for each; after
// the zero Head it visits all, and the report has what is still to be erased. It checks the chain and only
// reads.
func Follow(fsys durable.ReadFS, after journal.Head, visit func(*journal.Line) error) (Report, error) {
	newNames := chain.NewNames
	if after.Seq > 0 {
		newNames = chain.NewPartialNames
	}
	names, err := newNames(fsys)
	if err != nil {
		return Report{}, err
	}
	erasures := chain.NewErasures()
	visits := chain.Visits{Visit: func(v *chain.Visited) error {
		return visit(&v.Line)
	}}
	rest := chain.After{Head: after, Next: &visits}
	end, err := visits.Read(chain.Reader{FS: fsys, Skip: rest.Skip()},
		chain.InUse{},
		erasures,
		new(chain.Repairs),
		names,
		rest,
	)
	if err != nil {
		return Report{}, err
	}
	return Report{
		Head:     end.Head,
		Files:    end.Files,
		Unerased: erasures.Unerased(),
	}, nil
}
