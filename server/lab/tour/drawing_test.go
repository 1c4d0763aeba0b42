package tour

import (
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"waybill/server/docs"
	"waybill/server/proof/drawing"
	"waybill/store/checkpoint"
	"waybill/store/journal/seek"
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
	for i, s := range steps {
		if err := w.play(i+1, s); err != nil {
			t.Fatal(err)
		}
	}
	key, err := checkpoint.PublicKey(w.fsys)
	if err != nil {
		t.Fatal(err)
	}
	d, err := drawing.Read(w.fsys, seek.NewLines(w.fsys), key, w.head.Seq, paid)
	if err != nil {
		t.Fatal(err)
	}
	if !d.IsSigned() || d.Lines[1].Seq != paid || d.Lines[1].Type != "ticket.paid" || d.Marked != paid {
		t.Errorf("line %d is marked of %+v", d.Marked, d.Lines)
	}
	var drawn strings.Builder
	if err := d.WriteSVG(&drawn, drawing.ByItself); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(chain, []byte(drawn.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	there, err := os.ReadFile(chain)
	if err != nil || string(there) != drawn.String() {
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
