package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"waybill/schedule"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
)

// Codec writes and reads lines and snapshots. What was sold earlier is named by later lines, so it keeps the
// forms it has seen. Verify reads lines while it looks at a snapshot.
type Codec struct {
	mu    sync.Mutex
	forms map[string]*schedule.Form // by key
}

// NewCodec returns a codec that has seen nothing yet.
func NewCodec() *Codec {
	return &Codec{forms: map[string]*schedule.Form{}}
}

// learn keeps a form.
func (c *Codec) learn(f *schedule.Form) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forms[f.Key()] = f
}

// known returns a form that was seen; nil where none has the key.
func (c *Codec) known(key string) *schedule.Form {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forms[key]
}

// lineCoder is an entry between its event and its bytes.
type lineCoder struct {
	data     wire.Coder
	personal wire.Coder // of the personal part
	entry    Entry

	// Of what is read:
	readers [2]wire.Reader // of the data and the personal part
	part    []byte         // the personal part
	erased  bool           // its personal part was erased
	missing bool           // it names a form that no line before it has
}

// Encode appends an entry's data and personal part.
func (c *Codec) Encode(x Entry, data, personal []byte) (name string, d, p []byte) {
	k := kindOf(x.Event)
	l := &lineCoder{
		data:     wire.Coder{W: &wire.Writer{B: data}},
		personal: wire.Coder{W: &wire.Writer{B: personal}},
		entry:    x,
	}
	k.codeEvent(c, l, x.Event)
	l.appendBefore()
	if x.By != nil {
		l.append("by", x.By)
	}
	return k.typeName(), l.data.W.B, l.personal.W.B
}

// Decode reads what Encode wrote. A kind, a member or a form that it does not know is journal.ErrNewer: lines
// that a program finds have a hash that follows, so that they were written as they stand. A line that lacks a
// member, or names a form that no line before it has, was written by no program.
func (c *Codec) Decode(name string, data, personal []byte) (Entry, error) {
	k := kindNamed(name)
	if k == nil {
		return Entry{}, fmt.Errorf("%w: unknown type %q", journal.ErrNewer, name)
	}
	l := &lineCoder{
		entry:  Entry{Event: k.newEvent()},
		part:   personal,
		erased: bytes.HasPrefix(personal, []byte(`{"erased":`)),
	}
	l.data.R = &l.readers[0]
	l.data.R.Reset(data)
	l.personal.R = &l.readers[1]
	l.personal.R.Reset(personal)
	l.data.R.Exact, l.personal.R.Exact = true, true
	k.codeEvent(c, l, l.entry.Event)
	l.data.R.End()
	l.personal.R.End()
	err := cmp.Or(l.data.R.Err(), l.personal.R.Err())
	if err != nil {
		if !isMember(data) || !isMember(personal) {
			return l.entry, journal.ErrNotJSON
		}
		if member := lacks(k, data); member != "" {
			return l.entry, fmt.Errorf("%s: it has no member %q", name, member)
		}
		return l.entry, fmt.Errorf("%w: %s: %v", journal.ErrNewer, name, err)
	}
	if l.missing {
		return l.entry, errNoForm
	}
	return l.entry, nil
}

// isMember reports whether bytes can stand as a member of a line that is JSON, or are none. So can a member
// that is given twice, of which only the beginning is before the comma.
func isMember(text []byte) bool {
	return len(text) == 0 || json.Valid(slices.Concat([]byte(`{"":`), text, []byte("}")))
}

// errNoForm is the error of a line whose run has a form that no line before it has.
var errNoForm = errors.New("a run names a form that is not known")

func (k *kind[T]) codeEvent(c *Codec, l *lineCoder, e Event) {
	if k.code == nil {
		l.codePlain(e)
		return
	}
	l.data.Open("")
	k.code(c, l, e.(*T))
	l.readBefore()
	l.readBy()
	l.data.Ignore("personal") // the store's hash of the personal part
	l.data.Close()
}

// Personal is an event with a personal part of its own. PersonalPart returns a pointer to that, or nil where
// the event has none.
type Personal interface{ PersonalPart() any }

// codePlain codes an event that is rare enough for encoding/json. One with a personal part of its own returns
// a pointer to that; the personal part of the others is the answer, where the line has one.
func (l *lineCoder) codePlain(e Event) {
	own, hasOwn := e.(Personal)
	if l.data.Writing() {
		l.data.JSON("", e)
		if l.entry.Idempotency != nil {
			l.append(idempotencyMember, l.entry.Idempotency)
		}
	} else {
		l.readPlain(e)
	}
	switch {
	case l.erased:
		l.personal.JSON("", new(struct {
			Erased string `json:"erased"`
		}))
	case hasOwn:
		if part := own.PersonalPart(); part != nil {
			l.personal.JSON("", part)
			l.refuseNull(own)
		}
	case l.entry.Idempotency.Answers():
		l.personal.JSON("", l.entry.Idempotency.personalPart())
	}
}

// refuseNull rejects a null in a personal part, which leaves what a pointer points to as it was.
func (l *lineCoder) refuseNull(x Personal) {
	again, err := json.Marshal(x.PersonalPart())
	if l.part != nil && (err != nil || !bytes.Equal(again, l.part)) {
		l.personal.R.Reject("has a null")
	}
}

// besides are what may follow an event's own members, in this order.
var besides = []string{idempotencyMember, beforeMember, "by", "personal"}

// readPlain reads an event, and what stands beside its members: the Idempotency-Key, the lines before, and
// who did it.
func (l *lineCoder) readPlain(e Event) {
	r := l.data.R
	var own wire.Writer // the event's members
	own.Object("")
	rest := besides
	r.Object(func(name []byte) {
		value := r.Raw()
		at := slices.Index(rest, string(name))
		if at < 0 && len(rest) < len(besides) {
			r.Reject("stands in another place")
		}
		rest = rest[at+1:]
		switch string(name) {
		case "by":
			r.Unmarshal(value, new(By))
		case beforeMember:
			l.entry.Before = new(Before)
			r.Unmarshal(value, l.entry.Before)
		case idempotencyMember:
			l.entry.Idempotency = new(Idempotency)
			r.Unmarshal(value, l.entry.Idempotency)
		case "personal": // the store's hash of the personal part
		default:
			own.Raw(string(name), value)
		}
	})
	own.EndObject()
	r.Unmarshal(own.B, e)
}

// readBy passes over who did it, in a line that codes its members itself; see ReadBy.
func (l *lineCoder) readBy() {
	if !l.data.Writing() && l.data.Optional("by", false) {
		l.data.JSON("by", new(By))
	}
}

// append adds a member to the data's object, as its last.
func (l *lineCoder) append(name string, v any) {
	w := l.data.W
	w.B = bytes.TrimSuffix(w.B, []byte("}"))
	l.data.JSON(name, v)
	w.EndObject()
}

// codeIdempotency codes the Idempotency-Key of a line that codes its members itself.
func (l *lineCoder) codeIdempotency() {
	codeIdempotency(&l.data, &l.entry.Idempotency)
}

// idempotencyMember is what the member with the Idempotency-Key is called in lines and snapshots.
const idempotencyMember = "retry"

// codeIdempotency codes the Idempotency-Key of a line.
func codeIdempotency(c *wire.Coder, x **Idempotency) {
	if !c.Optional(idempotencyMember, *x != nil) {
		return
	}
	if !c.Writing() {
		*x = new(Idempotency)
	}
	c.JSON(idempotencyMember, *x)
}
