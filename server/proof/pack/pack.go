// Package pack makes what an auditor takes home of some days: one archive with the statement, lists of what
// operators did and of what happened to the journal, and the notes that hold all of it to what was signed
// (decision audit.pack).
//
//	err := pack.File(fsys, inUse, pack.Options{Period: days, Verdict: verdict}, "out.zip")
//
// It only reads, and a server may have the directory open: then it has the lines up to the newest note.
package pack

import (
	"archive/zip"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"waybill/server/docs"
	"waybill/server/frame/words"
	"waybill/server/proof/statement"
	"waybill/store/durable"
	"waybill/store/durable/readonly"
	"waybill/store/journal"
)

//go:embed readme.txt
var readmeText string

var readme = template.Must(template.New("README.txt").Parse(readmeText))

// Options say what a pack is of.
type Options struct {
	Period  statement.Period
	Verdict func() any // what verify -json prints of the whole directory
}

// Made says what is in a pack.
type Made struct {
	Until       uint64 // the last line that was read
	First, Last uint64 // the lines of the period; none where the last is before the first
}

// String says it in words.
func (m Made) String() string {
	return fmt.Sprintf("has %s of the period, of %s", words.Counted(m.Last+1-m.First, "line"),
		words.Counted(m.Until, "line"))
}

// File writes a pack into a new file. Where that fails, or is cut short, there is none of that name.
func File(fsys readonly.FS, inUse bool, o Options, name string) (made Made, err error) {
	if _, err := os.Lstat(name); err == nil {
		return made, fmt.Errorf("%s is there already", name)
	}
	dir, base := filepath.Split(name)
	err = durable.Publish(durable.Dir(cmp.Or(dir, ".")), ".", base, func(w io.Writer) error {
		made, err = Write(fsys, inUse, o, w)
		return err
	})
	return made, err
}

// file is a file of the pack.
type file struct {
	Name, Question string
	text           []byte
}

// Write writes a pack as a zip archive.
func Write(fsys readonly.FS, inUse bool, o Options, to io.Writer) (Made, error) {
	var moved bytes.Buffer
	filter := statement.Filter{Period: o.Period}
	end, err := statement.Write(fsys, inUse, filter, "csv", &moved)
	if err != nil {
		return Made{}, err
	}
	all, err := collect(fsys)
	if err != nil {
		return Made{}, err
	}
	found, err := read(fsys, inUse, o.Period, end.Seq, &all)
	if err != nil {
		return Made{}, err
	}
	notes := all.around(found)
	proof, noProof := notes.consistency(fsys)
	keys, noKeys := notes.keys(fsys)
	verdict, noVerdict := json.MarshalIndent(o.Verdict(), "", "  ")
	origin, _, noOrigin := journal.ReadOrigin(fsys)
	if err := errors.Join(noProof, noKeys, noVerdict, noOrigin); err != nil {
		return Made{}, err
	}
	files := []file{{"statement.csv", "What money moved in the period, for which ticket and by which rule, and what " +
		"had moved before?", moved.Bytes()}}
	for i := range lists {
		files = append(files, file{lists[i].name, lists[i].question, found.texts[i].Bytes()})
	}
	files = append(files, notes.files()...)
	files = append(files,
		file{"consistency.txt", "Does the later note extend the earlier one, or was a line changed, added or " +
			"removed between them? (RFC 6962: the hashes of the proof in base64, one a line)", []byte(proof)},
		file{"keys.txt", "With which keys are the notes checked: the journal's, and its witnesses'?", []byte(keys)},
		file{"verify.json", "Is the directory unchanged, and does each of its lines follow from the rules?",
			append(verdict, '\n')},
		file{"audit.py", "How can one check a copy of the directory without the program that wrote it, and the " +
			"notes and the proof here? (python3 -I audit.py says how)", docs.Auditor()},
	)
	made := Made{
		Until: end.Seq,
		First: found.first,
		Last:  found.last,
	}
	if notes.after != nil {
		origin = notes.after.Origin
	}
	about, err := describe(origin, o.Period, made, &notes, files)
	if err != nil {
		return made, err
	}
	return made, archive(to, o.Period, end.Time, append(files, file{"README.txt", "", about}))
}

// files returns the notes, as they were signed.
func (b *bounds) files() (list []file) {
	if b.before != nil {
		list = append(list, file{"note-before.txt", "What had been signed of the journal before the period?",
			b.before.Text})
	}
	if b.after != nil {
		list = append(list, file{"note-after.txt", "What has been signed since, including these lines?",
			b.after.Text})
	}
	return list
}

// describe writes the README: which question each file answers, and what holds them to the truth.
func describe(origin string, p statement.Period, made Made, notes *bounds, files []file) ([]byte, error) {
	var text bytes.Buffer
	err := readme.Execute(&text, map[string]any{
		"Origin": origin,
		"Period": p,
		"Until":  made.Until,
		"First":  made.First,
		"Last":   made.Last,
		"Empty":  made.Last < made.First,
		"Files":  files,
		"Before": shown(notes.before, made.Last),
		"After":  shown(notes.after, made.Last),
	})
	return text.Bytes(), err
}

// archive writes the files into one folder of a zip archive.
func archive(to io.Writer, p statement.Period, at time.Time, files []file) error {
	out := zip.NewWriter(to)
	folder := fmt.Sprintf("audit-%s-%s/", p.From, p.To)
	for _, f := range files {
		w, err := out.CreateHeader(&zip.FileHeader{
			Name:     folder + f.Name,
			Method:   zip.Deflate,
			Modified: at.UTC(),
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(f.text); err != nil {
			return err
		}
	}
	return out.Close()
}
