package tour

import (
	"bytes"
	_ "embed"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"waybill/server/lab/transcript"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store/checkpoint"
	"waybill/store/inspect"
	"waybill/store/tree"
)

// The tour is a transcript. It fails where the program does not do what a step says: a tour that tells what
// is not so would be worse than none.
//
//go:embed tour.txt
var text string

// play plays the transcript. next is called before each step but the first.
func (w *world) play(next func() error) error {
	w.player = transcript.Player{
		Vars: map[string]string{},
		Ask:  w.ask,
		Verbs: map[string]func(string) error{
			"step":    func(title string) error { return w.step(title, next) },
			"says":    func(text string) error { return w.print("%s\n", text) },
			"show":    func(text string) error { return w.print("\n  %s\n", text) },
			"quietly": w.quietly,
			"keep":    func(string) error { w.kept = w.player.Answer.Body; return nil },
			"same":    func(string) error { return w.same() },
			"restart": func(string) error { return w.restart() },
			"verify":  func(string) error { return w.verify() },
			"forget":  func(string) error { return w.forget() },
			"prove":   func(string) error { return w.prove() },
		},
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := w.player.Play(line); err != nil {
			return fmt.Errorf("step %d: %s: %w", w.steps, strings.TrimSpace(line), err)
		}
	}
	return w.endStep()
}

// print shows something.
func (w *world) print(format string, args ...any) error {
	_, err := fmt.Fprintf(w.out, format, args...)
	return err
}

// step begins a step, once the one before is shown.
func (w *world) step(title string, next func() error) error {
	if w.steps > 0 {
		if err := w.endStep(); err != nil {
			return err
		}
		if err := next(); err != nil {
			return err
		}
	}
	w.steps++
	return w.print("\nStep %d of %d. %s\n", w.steps, strings.Count(text, "\nstep "), title)
}

// endStep shows what came of a step: what was written, and what has changed.
func (w *world) endStep() error {
	if w.front == nil {
		return nil // nobody is there to be asked
	}
	if err := w.showLines(); err != nil {
		return err
	}
	return w.showChanges()
}

// quietly plays a request that is not shown.
func (w *world) quietly(request string) error {
	w.quiet = true
	defer func() { w.quiet = false }()
	return w.player.Play(request)
}

// same compares the last answer with the one that was kept.
func (w *world) same() error {
	if !bytes.Equal(w.player.Answer.Body, w.kept) {
		return fmt.Errorf("the answer is another:\n%s", w.player.Answer.Body)
	}
	return nil
}

// sale returns the number of the line of the sale.
func (w *world) sale() uint64 {
	seq, _ := strconv.ParseUint(w.player.Vars["sale"], 10, 64)
	return seq
}

// restart ends the server and starts it again.
func (w *world) restart() error {
	if err := w.stop(); err != nil {
		return err
	}
	return w.serve()
}

// verify checks the directory beside the server, as waybill verify does: it reads the files, and asks nobody.
func (w *world) verify() error {
	// A running server goes on meanwhile: what it writes then is left out.
	report, err := verify.Directory(w.fsys, true, inspect.Expected{})
	if err != nil {
		return err
	}
	// How many checkpoints there are depends on how busy the machine is: they are left out.
	fmt.Fprintf(w.out, "\n  $ waybill verify\n    sound: %d lines, %d snapshot compared; the last hash is %x…\n"+
		"    the books: %s\n", report.Head.Seq, report.Snapshots, report.Head.Hash[:4], report.Books)
	return nil
}

// forget has Lesia's personal data erased, as waybill forget does, and shows the line of the sale before and
// after.
func (w *world) forget() error {
	before, err := w.line(w.sale())
	if err != nil {
		return err
	}
	fmt.Fprintln(w.out, "\n  $ waybill forget -email lesia@example.com -reason \"she has asked for it\"")
	// Output is copied into questions to others: it is not to say who took the tour.
	by := admin.Self()
	by.UID = 1000
	by.User = "operator"
	by.Login = ""
	var said strings.Builder
	err = w.front.Server.Admin.Do("forget", &admin.Act{
		By: by,
		Form: url.Values{
			"email":  {"lesia@example.com"},
			"reason": {"she has asked for it"},
		},
		Out: &said,
	})
	if err != nil {
		return err
	}
	after, err := w.line(w.sale())
	if err != nil {
		return err
	}
	// The same line, read again: all that the chain covers is as it was.
	fmt.Fprintf(
		w.out,
		"    %s\n\n  the sale, line %d, had this behind the part that its hash covers:\n    %s\n  and now has\n"+
			"    %s\n",
		strings.TrimSpace(said.String()),
		w.sale(),
		before.Personal,
		after.Personal,
	)
	if before.Hash != after.Hash {
		return fmt.Errorf("the hash of line %d has changed", w.sale())
	}
	fmt.Fprintf(w.out, "  its hash, %x…, and all later hashes have not changed\n", after.Hash[:4])
	return nil
}

// prove ends the server, and shows that the sale is among the lines that were signed. It has the line, the
// proof, the checkpoint and the public key, as somebody far away could have; package evidence makes a file of
// them.
func (w *world) prove() error {
	if err := w.stop(); err != nil {
		return err
	}
	text, err := checkpoint.Newest(w.fsys)
	if err != nil {
		return err
	}
	key, err := checkpoint.PublicKey(w.fsys)
	if err != nil {
		return err
	}
	// Parse also checks the signature.
	signed, err := checkpoint.Parse(text, key)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "\n  the file checkpoint:\n    %s\n",
		strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n    "))
	sale, err := w.line(w.sale())
	if err != nil {
		return err
	}
	// The leaf is what the chain covers: the name, which is erased by now, is not in it, but its hash.
	leaf := tree.Leaf(sale.Chained)
	proof, err := tree.Inclusion(w.fsys, w.sale()-1, signed.Seq)
	if err != nil {
		return err
	}
	// From the leaf to the root: at each level the hash is joined with its neighbour's.
	fmt.Fprintf(
		w.out,
		"\n  line %d is a leaf: SHA-256 of a byte 0 and what its hash covers, %x…\n  on the way up "+
			"from there its neighbours are\n",
		w.sale(),
		leaf[:4],
	)
	for _, hash := range proof {
		fmt.Fprintf(w.out, "    %x…\n", hash[:4])
	}
	if !tree.Includes(proof, leaf, w.sale()-1, signed.Seq, signed.Root) {
		return fmt.Errorf("they do not lead to the root %x", signed.Root)
	}
	fmt.Fprintf(
		w.out,
		"  and the result is the root that was signed, %x…: %d hashes for %d lines, 20 for a "+
			"million\n",
		signed.Root[:4],
		len(proof),
		signed.Seq,
	)
	return nil
}
