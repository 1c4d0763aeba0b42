package tour

import (
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"waybill/server/docs"
	"waybill/store/checkpoint"
)

var update = flag.Bool("update", false, "draw the picture of the pages anew")

// chain is the picture that tour.md and auditing.md show.
const chain = "../../docs/chain.svg"

// paid is the line by which Lesia pays: its proof is marked.
const paid = 9

// The picture on the pages is of the journal that the tour leaves: drawn again, it has the same bytes.
func TestThePagesShowTheJournalOfTheTour(t *testing.T) {
	w, err := newWorld(os.DirFS("../../../testdata/demo"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if err := w.play(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	key, err := checkpoint.PublicKey(w.fsys)
	if err != nil {
		t.Fatal(err)
	}
	d := draw(t, w.fsys, key, paid)
	if d.root.last != w.head.Seq || d.lines[1].Seq != paid || d.lines[1].kind != "ticket.paid" {
		t.Errorf("line %d is marked of %+v", d.marked, d.lines)
	}
	drawn := d.svg()
	if *update {
		if err := os.WriteFile(chain, []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	there, err := os.ReadFile(chain)
	if err != nil || string(there) != drawn {
		t.Errorf("%s is not what the tour leaves (%v); go test ./server/lab/tour -run Pages -update draws it anew",
			chain, err)
	}
}

// Both pages have the picture in them: a browser need not fetch it.
func TestThePagesHaveThePictureInThem(t *testing.T) {
	for _, page := range []string{"made/tour.html", "made/auditing.html"} {
		text, err := docs.Files.ReadFile(page)
		if err != nil || !strings.Contains(string(text), `<svg viewBox=`) {
			t.Errorf("%s has no picture (%v)", page, err)
		}
	}
}

// The sheet of all pages has the rules of the picture.
func TestTheSheetHasTheRulesOfThePicture(t *testing.T) {
	sheet, err := docs.Files.ReadFile("style.css")
	if err != nil || !strings.Contains(string(sheet), rules) {
		t.Errorf("the picture has other rules than style.css (%v)", err)
	}
}
