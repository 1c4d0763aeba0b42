package tour

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store/checkpoint"
	"waybill/store/inspect"
	"waybill/store/tree"
)

// A step is one thing that is done with the booking. It fails where the program does not do what the step
// says: a tour that tells what is not so would be worse than none.
type step struct {
	title string
	stops string // of docs/tour.md, by their numbers
	says  string
	do    func(*world) error
}

// search is what finds Lesia's bus.
const search = "GET /v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25"

// steps are the tour.
var steps = []step{
	{
		// The clock stands still at 10:00 in Kyiv; the bus leaves in five days.
		"Nobody calls", "1",
		"Without a key one is told nothing, and no line is written.",
		func(w *world) error {
			return w.expect(request{line: search}, 401)
		},
	},
	{
		// Two requests of one search have two ids: each expires at its own time.
		"A search", "1, 3",
		"With a key one gets offers. The id of an offer is the signed offer itself: the server remembers nothing.",
		(*world).find,
	},
	{
		// The name that is none leaves another one missing, which is told as well.
		"A sale with two mistakes", "2",
		"One member is given twice, and one name is not a name. The answer names both places, and nothing is sold.",
		func(w *world) error {
			return w.expect(request{
				key:  w.anna,
				line: "POST /v2/bookings",
				body: `{"offerId":"` + w.offer + `","currency":"UAH","currency":"EUR",` +
					`"passengers":[{"first":"Lesia","lastName":"Ukrainka"}]}`,
			}, 400)
		},
	},
	{
		// It is the first on this run: its line has the run and its form, too, and is the longest.
		"The sale", "4, 5, 6, 7",
		"A decision, a seat, a line, a sync, and only then the answer.",
		(*world).sell,
	},
	{
		"The sale once more", "8",
		"Say that the connection broke. The request comes again under its key: the same answer, and no new line.",
		(*world).sellAgain,
	},
	{
		// The id is right, and the key is good; they do not belong together.
		"Somebody else asks", "1",
		"Another partner's booking is not there.",
		func(w *world) error {
			return w.expect(request{key: w.other, line: "GET /v2/bookings/" + w.booking}, 404)
		},
	},
	{
		// She has not paid yet: her window ends now, to the millisecond.
		"Twenty minutes pass", "9",
		"Nobody does anything, and yet the seat is free. The line about it only records that.",
		func(w *world) error {
			return w.expect(request{line: "POST /test/clock", body: `{"advance":"20m"}`}, 200)
		},
	},
	{
		// The e-mail that goes out is a line of its own, so that it goes out once.
		"Lesia pays after all", "4, 9",
		"The table lets Uncompleted become Paid, as her seat is still free. To pay twice is a conflict.",
		func(w *world) error {
			pay := request{key: w.anna, line: "POST /v2/bookings/" + w.booking + "/pay"}
			if err := w.expect(pay, 200); err != nil {
				return err
			}
			return w.expect(pay, 409)
		},
	},
	{
		// 770 hryvnias, and the bus leaves on 2026-11-25 at 03:30 UTC.
		"She cancels, 39 hours before", "10",
		"The departure is less than 72 hours away, but more than 24: the carrier's rules give 90 per cent back.",
		func(w *world) error {
			clock := request{line: "POST /test/clock", body: `{"now":"2026-11-23T12:00:00Z"}`}
			if err := w.expect(clock, 200); err != nil {
				return err
			}
			return w.expect(request{key: w.anna, line: "POST /v2/bookings/" + w.booking + "/cancel"}, 200)
		},
	},
	{
		"The server stops, and starts", "11",
		"What it knows now was read from its files. The booking is the same, byte for byte.",
		(*world).restart,
	},
	{
		// The snapshot is the one that the stop has written.
		"Every byte is checked", "12",
		"First the lines, then the snapshot against a replay, then the books, without the code that made the sale.",
		(*world).verify,
	},
	{
		// Of all that was shown so far only the name, the address and the number go.
		"Lesia is forgotten", "13",
		"A line records it. Then the personal part of the sale's line is gone, but the line's hash has not changed.",
		(*world).forget,
	},
	{
		"The proof", "14",
		"The server has stopped. It has signed the number of lines and one hash of them all. A few hashes\n" +
			"show that the sale is among them, without showing any other line.",
		(*world).prove,
	},
}

// play plays a step, which has a number, and shows what came of it: what was written, and what has changed.
func (w *world) play(number int, s step) error {
	fmt.Fprintf(
		w.out,
		"\nStep %d of %d. %s (docs/tour, stop %s)\n%s\n",
		number,
		len(steps),
		s.title,
		s.stops,
		s.says,
	)
	if err := s.do(w); err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	if w.front == nil {
		return nil // nobody is there to be asked
	}
	if err := w.showLines(); err != nil {
		return err
	}
	return w.showChanges()
}

// expect sends a request whose answer has a status.
func (w *world) expect(r request, want int) error {
	_, err := w.get(r, want)
	return err
}

// get sends a request whose answer must have a status, and returns the answer.
func (w *world) get(r request, want int) ([]byte, error) {
	status, answer, err := w.send(r)
	if err == nil && status != want {
		err = fmt.Errorf("%s: got %d, want %d", r.line, status, want)
	}
	return answer, err
}

// find searches for an offer, and keeps the first.
func (w *world) find() error {
	answer, err := w.get(request{key: w.anna, line: search}, 200)
	if err != nil {
		return err
	}
	var found struct {
		Data struct{ Offers []struct{ ID string } }
	}
	err = json.Unmarshal(answer, &found)
	if err == nil && len(found.Data.Offers) == 0 {
		err = fmt.Errorf("%s: the answer has no offer", search)
	}
	if err != nil {
		return err
	}
	w.offer = found.Data.Offers[0].ID
	return nil
}

// sale is the request that sells. It names its Idempotency-Key, so that it may be sent again.
func (w *world) sale() request {
	return request{
		key:  w.anna,
		line: "POST /v2/bookings",
		once: "lesia-1",
		body: `{"offerId":"` + w.offer + `","currency":"UAH","passengers":[{"firstName":"Lesia",` +
			`"lastName":"Ukrainka","email":"lesia@example.com","phones":[{"phone":"+380441234567"}]}]}`,
	}
}

// sell sells, and keeps what later steps look at: the booking's id, the answer, and the line.
func (w *world) sell() error {
	answer, err := w.get(w.sale(), 201)
	if err != nil {
		return err
	}
	var sold struct {
		Data struct{ Booking struct{ ID string } }
	}
	if err := json.Unmarshal(answer, &sold); err != nil {
		return err
	}
	w.booking = sold.Data.Booking.ID
	w.answer = string(answer)
	w.sold = w.head.Seq + 1
	return nil
}

// sellAgain sends the same request again, and compares the answers.
func (w *world) sellAgain() error {
	// The answer was made again from the line of the sale.
	answer, err := w.get(w.sale(), 201)
	if err == nil && string(answer) != w.answer {
		err = fmt.Errorf("the second answer is another:\n%s", answer)
	}
	if err == nil {
		fmt.Fprintln(w.out, "\n  byte for byte what was answered first")
	}
	return err
}

// restart ends the server and starts it again, on another port, and compares the booking. What the server had
// in memory is gone by then.
func (w *world) restart() error {
	read := request{key: w.anna, line: "GET /v2/bookings/" + w.booking}
	_, before, _, err := w.call(read)
	if err != nil {
		return err
	}
	if err := w.stop(); err != nil {
		return err
	}
	if err := w.serve(); err != nil {
		return err
	}
	after, err := w.get(read, 200)
	if err == nil && string(after) != string(before) {
		err = fmt.Errorf("after the start the booking is another:\n%s", after)
	}
	return err
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
	before, err := w.line(w.sold)
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
	after, err := w.line(w.sold)
	if err != nil {
		return err
	}
	// The same line, read again: all that the chain covers is as it was.
	fmt.Fprintf(
		w.out,
		"    %s\n\n  the sale, line %d, had this behind the part that its hash covers:\n    %s\n  and now has\n"+
			"    %s\n",
		strings.TrimSpace(said.String()),
		w.sold,
		before.Personal,
		after.Personal,
	)
	if before.Hash != after.Hash {
		return fmt.Errorf("the hash of line %d has changed", w.sold)
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
	sale, err := w.line(w.sold)
	if err != nil {
		return err
	}
	// The leaf is what the chain covers: the name, which is erased by now, is not in it, but its hash.
	leaf := tree.Leaf(sale.Chained)
	proof, err := tree.Inclusion(w.fsys, w.sold-1, signed.Seq)
	if err != nil {
		return err
	}
	// From the leaf to the root: at each level the hash is joined with its neighbour's.
	fmt.Fprintf(
		w.out,
		"\n  line %d is a leaf: SHA-256 of a byte 0 and what its hash covers, %x…\n  on the way up "+
			"from there its neighbours are\n",
		w.sold,
		leaf[:4],
	)
	for _, hash := range proof {
		fmt.Fprintf(w.out, "    %x…\n", hash[:4])
	}
	if !tree.Includes(proof, leaf, w.sold-1, signed.Seq, signed.Root) {
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
