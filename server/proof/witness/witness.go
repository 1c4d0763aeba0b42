// Package witness asks witnesses to sign what the directory has signed (decision witnesses.asked, C2SP
// tlog-witness). A witness signs a checkpoint after it has seen a proof that the journal extends the one that
// it signed before. So whoever has the directory and its key cannot show one history to some and another to
// others, nor write it anew, without a witness's help.
//
//	peer, err := witness.Parse("https://witness.example.com w.example.com+0a1b2c3d+BE…")
//	s := witness.New(core, []witness.Peer{peer})
//	s.Run()         // asks once a minute at most, while there are new lines
//	s.AskOnce(ctx)  // asks now
//
// What a witness says is kept by package store, in the notes. Serving goes on whatever it says.
package witness

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waybill/server/frame/web"
	"waybill/store/checkpoint"
	"waybill/store/note"
)

const (
	// Most is how many witnesses there may be.
	Most = 8
	// pause is the least time between two questions to one witness.
	pause = time.Minute
	// patience is how long a witness is waited for.
	patience = 10 * time.Second
	// maxAhead is how far a witness's clock may be ahead.
	maxAhead = 24 * time.Hour
	// maxAnswer is how many bytes of an answer are read.
	maxAnswer = 16 << 10
	// maxName is how long a witness's name may be, in bytes.
	maxName = 450
	// maxSaid is how many bytes of a refusal the log shows.
	maxSaid = 200
)

// Peer is a witness: where it is asked, and the key that it signs with.
type Peer struct {
	URL string // the submission prefix, without a slash at its end
	Key note.Key
}

// Parse reads a peer as the flag -witness gives it: a URL, a blank, and a verifier key.
func Parse(text string) (Peer, error) {
	address, vkey, found := strings.Cut(strings.TrimSpace(text), " ")
	if !found {
		return Peer{}, errors.New("must be a URL, a space and the witness's verifier key")
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return Peer{}, errors.New(
			"the URL must be absolute, of http or https, without user, query and fragment",
		)
	}
	key, err := note.ParseWitnessKey(strings.TrimSpace(vkey))
	if err != nil {
		return Peer{}, fmt.Errorf("the verifier key %w", err)
	}
	if len(key.Name) > maxName {
		return Peer{}, fmt.Errorf("the verifier key's name is longer than %d bytes", maxName)
	}
	return Peer{strings.TrimSuffix(address, "/"), key}, nil
}

// ParseAll reads several peers. A note tells its signatures apart by name, so no two may have the same. Its
// error names one by its number, and not by its text: somebody may have put a password there.
func ParseAll(list []string) (peers []Peer, err error) {
	if len(list) > Most {
		return nil, fmt.Errorf("is given %d times; the limit is %d", len(list), Most)
	}
	for i, text := range list {
		peer, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("number %d: %w", i+1, err)
		}
		for _, other := range peers {
			if other.Key.Name == peer.Key.Name {
				return nil, fmt.Errorf("number %d: another witness has that name", i+1)
			}
		}
		peers = append(peers, peer)
	}
	return peers, nil
}

// Collector asks the witnesses.
type Collector struct {
	*web.Core
	client *http.Client

	mu         sync.Mutex // one round at a time
	witnesses  []*state
	remembered bool // what they had signed before the start is known
}

// state is what is known of a witness.
type state struct {
	Peer
	old     uint64 // lines that it has signed, as far as it says
	signed  uint64 // lines of the newest note, if that has its signature
	last    atomic.Pointer[cosigned]
	refused atomic.Uint64 // how often it has refused
}

// cosigned is the newest signature of a witness that is known: of how many lines it is, and when, by the
// witness's clock, it was made.
type cosigned struct {
	lines uint64
	at    time.Time
}

// New returns the room.
func New(core *web.Core, peers []Peer) *Collector {
	s := &Collector{
		Core: core,
		// No proxy of the environment, and no redirect: a witness is where it is said to be.
		client: &http.Client{
			Transport: &http.Transport{DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
	}
	for _, p := range peers {
		s.witnesses = append(s.witnesses, &state{Peer: p})
	}
	return s
}

// Keys returns the keys of the witnesses.
func (s *Collector) Keys() (keys []note.Key) {
	for _, w := range s.witnesses {
		keys = append(keys, w.Key)
	}
	return keys
}

// Known is what is known of a witness since the start, and by the newest note that all had signed before it.
type Known struct {
	Name    string
	Refused uint64    // how often, since the start
	Lines   uint64    // that it has signed
	At      time.Time // when, by its clock, which is a real one; zero before the first
}

// Known returns what is known of each witness. It waits for no question that is on its way.
func (s *Collector) Known() (list []Known) {
	for _, w := range s.witnesses {
		known := Known{Name: w.Key.Name, Refused: w.refused.Load()}
		if last := w.last.Load(); last != nil {
			known.Lines = last.lines
			known.At = last.at
		}
		list = append(list, known)
	}
	return list
}

// Standing is what a witness has done with a checkpoint, and has refused since the start.
type Standing struct {
	Name    string
	Signed  bool
	Refused uint64
}

// Standings returns what each witness has done with a checkpoint.
func (s *Collector) Standings(signed []byte) (list []Standing, err error) {
	n, err := note.Parse(signed)
	if err != nil {
		return nil, err
	}
	for _, w := range s.witnesses {
		_, err := n.Verify(w.Key)
		list = append(list, Standing{
			Name:    w.Key.Name,
			Signed:  err == nil,
			Refused: w.refused.Load(),
		})
	}
	return list, nil
}

// Run asks the witnesses until the server stops: once a minute, where there are new lines. Its clock paces
// it, and decides nothing.
func (s *Collector) Run() {
	for len(s.witnesses) > 0 && s.Base.Err() == nil {
		s.AskOnce(s.Base)
		select {
		case <-s.Base.Done():
		case <-time.After(pause):
		}
	}
	s.client.CloseIdleConnections()
}

// SignNow has the newest lines signed at once: by the directory, and within a time by the witnesses. It waits
// for those that are on their way to the disk, which a reader of the journal may see already.
func (s *Collector) SignNow(within time.Duration) error {
	if _, err := s.Now(); err != nil { // a view waits for what it sees
		return err
	}
	if _, err := s.Store.Sign(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.Base, within)
	defer cancel()
	s.AskOnce(ctx)
	return nil
}

// AskOnce has the newest lines signed, and asks each witness that has not signed them.
func (s *Collector) AskOnce(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.witnesses) == 0 {
		return
	}
	signed, err := s.Store.Sign()
	if err != nil {
		s.Log.Warn("there is no checkpoint for witnesses to sign yet; it will be tried again", "err", err)
		return
	}
	c, err := checkpoint.Parse(signed, s.Store.Key().Public())
	if err != nil {
		return // of before this start, on a full disk
	}
	s.remember(c.Seq)
	if err := s.recall(signed, c); err != nil {
		s.Log.Warn("the newest checkpoint cannot be read; witnesses will be asked later", "err", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lines := make([]string, len(s.witnesses))
	var asked sync.WaitGroup
	for i, w := range s.witnesses {
		if w.signed < c.Seq {
			asked.Go(func() {
				lines[i] = s.ask(ctx, w, signed, c)
			})
		}
	}
	asked.Wait()
	s.keep(signed, c, strings.Join(lines, ""))
}

// remember takes up, before the first round, how many of the journal's lines all witnesses had signed before
// the start: what they are asked to sign extends that. A witness that knows another number says so.
func (s *Collector) remember(lines uint64) {
	if s.remembered {
		return
	}
	s.remembered = true
	signed, err := checkpoint.NewestWitnessed(s.Config.FS)
	if err != nil {
		return // there is none
	}
	n, err := note.Parse(signed)
	if err != nil {
		return
	}
	c, err := checkpoint.Parse(signed, s.Store.Key().Public())
	if err != nil || c.Seq > lines {
		return // it is of another journal
	}
	for _, w := range s.witnesses {
		if at, err := n.Verify(w.Key); err == nil {
			w.old = c.Seq
			w.last.Store(&cosigned{c.Seq, at})
		}
	}
}

// recall finds out which witnesses have signed the note of a checkpoint.
func (s *Collector) recall(signed []byte, c checkpoint.Checkpoint) error {
	n, err := note.Parse(signed)
	if err != nil {
		return err
	}
	for _, w := range s.witnesses {
		w.signed = 0
		if _, err := n.Verify(w.Key); err == nil {
			w.signed = c.Seq
		}
	}
	return nil
}

// keep adds what witnesses have signed to a checkpoint. What cannot be kept is tried again in the next round.
func (s *Collector) keep(signed []byte, c checkpoint.Checkpoint, lines string) {
	all := true
	for _, w := range s.witnesses {
		all = all && w.signed == c.Seq
	}
	if err := s.Store.Cosign(signed, lines, all); err != nil {
		s.Log.Warn("the witnesses' signatures could not be kept; it will be tried "+
			"again", "line", c.Seq, "err", err)
	}
}

// ask asks a witness, and returns the line of its signature, or "" where it gave none, which the log says.
func (s *Collector) ask(ctx context.Context, w *state, signed []byte, c checkpoint.Checkpoint) string {
	line, at, err := s.submit(ctx, w, signed, c)
	var refused *refusal
	switch {
	case err == nil:
		w.old = c.Seq
		w.signed = c.Seq
		w.last.Store(&cosigned{c.Seq, at})
		s.Log.Info("a witness has signed", "witness", w.Key.Name, "line", c.Seq)
	case errors.As(err, &refused):
		w.refused.Add(1)
		s.Log.Error("a witness refuses to sign", "witness", w.Key.Name, "line", c.Seq, "why", refused.why)
	case errors.Is(ctx.Err(), context.Canceled):
		// The server stops, and asks once more.
	default:
		s.Log.Warn("a witness could not be reached; it will be asked "+
			"again", "witness", w.Key.Name, "line", c.Seq,
			"err", err)
	}
	return line
}

// refusal is the error of a witness that has answered, and not signed.
type refusal struct{ why string }

// Error returns why.
func (r *refusal) Error() string { return r.why }

// submit asks a witness up to twice: it may have signed more or less than is known here, and says so.
func (s *Collector) submit(ctx context.Context, w *state, signed []byte, c checkpoint.Checkpoint) (
	line string, at time.Time, err error) {
	for range 2 {
		status, answer, err := s.post(ctx, w, signed, c)
		if err != nil {
			return "", at, err
		}
		if status != http.StatusConflict {
			return read(w, signed, status, answer)
		}
		seen, err := strconv.ParseUint(strings.TrimSuffix(string(answer), "\n"), 10, 64)
		switch {
		case err != nil:
			return "", at, &refusal{
				fmt.Sprintf("it has signed another number of lines, and does not say how many: %q",
					cut(answer)),
			}
		case seen > c.Seq:
			return "", at, &refusal{
				fmt.Sprintf("it has signed %d lines, but this journal has %d: the witness knows another "+
					"journal", seen, c.Seq),
			}
		}
		w.old = seen
	}
	return "", at, &refusal{"it has signed another number of lines than it just said: somebody else " +
		"asks it " +
		"to sign for this directory"}
}

// post sends a checkpoint, with the proof that it extends what the witness has signed.
func (s *Collector) post(ctx context.Context, w *state, signed []byte, c checkpoint.Checkpoint) (status int,
	answer []byte, err error) {
	proof, err := s.Store.Extends(w.old, c.Seq)
	if err != nil {
		return 0, nil, err
	}
	body := fmt.Appendf(nil, "old %d\n", w.old)
	for _, hash := range proof {
		body = append(body, base64.StdEncoding.EncodeToString(hash[:])+"\n"...)
	}
	body = append(body, '\n')
	body = append(body, signed...)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/add-checkpoint", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("User-Agent", "waybill")
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests {
		err = fmt.Errorf("it answers %s", resp.Status)
	}
	return resp.StatusCode, answer, err
}

// read returns the signature in an answer, and when it was made. It must be by the key that the witness is
// known by, and of this checkpoint.
func read(w *state, signed []byte, status int, answer []byte) (line string, at time.Time, err error) {
	if status != http.StatusOK {
		return "", at, &refusal{fmt.Sprintf("it answers %d: %q", status, cut(answer))}
	}
	lines, err := note.ParseSignatures(string(answer))
	if err != nil {
		return "", at, &refusal{fmt.Sprintf("its answer is no signature: %q", cut(answer))}
	}
	n, err := note.Parse(signed)
	if err != nil {
		return "", at, err
	}
	wrong := note.ErrNotSigned
	for _, signature := range lines {
		n.Signatures = []note.Signature{signature}
		at, err := n.Verify(w.Key)
		if err == nil && (at.Unix() <= 0 || at.After(time.Now().Add(maxAhead))) {
			return "", at, &refusal{
				fmt.Sprintf("its signature has an impossible time, %s", at.Format(time.RFC3339)),
			}
		}
		if err == nil {
			return signature.Line(), at, nil
		}
		if !errors.Is(err, note.ErrNotSigned) {
			wrong = err
		}
	}
	return "", at, &refusal{"its answer " + wrong.Error()}
}

// cut returns the beginning of what a witness says.
func cut(answer []byte) string {
	return strings.TrimSpace(string(answer[:min(len(answer), maxSaid)]))
}
