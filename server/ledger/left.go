package ledger

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// SentAs is how a message left the outbox, as its line says.
type SentAs string

const (
	SentAsMail SentAs = "mail"
	SentAsText SentAs = "text"
	SentAsFile SentAs = "file" // an e-mail where there is no mail server
	SentAsNone SentAs = "none" // it was no longer true when it could be sent

	// SentAsErased is of a message that was not sent when its passenger was forgotten. No line of its own
	// says so: the one of the erasure does.
	SentAsErased SentAs = "erased"
)

// Ways are all the ways in which messages leave. Snapshots name them by their places.
var Ways = []SentAs{SentAsMail, SentAsText, SentAsFile, SentAsNone, SentAsErased}

// InWords says it of messages.
func (a SentAs) InWords() string {
	switch a {
	case SentAsNone:
		return "overtaken"
	case SentAsErased:
		return "erased"
	}
	return "sent as " + string(a)
}

// UnmarshalText reads what a line says. What this program does not know is of a newer one.
func (a *SentAs) UnmarshalText(text []byte) error {
	*a = SentAs(text)
	if !slices.Contains(Ways, *a) {
		return fmt.Errorf("a message cannot be sent as %q", text)
	}
	return nil
}

// Left is a message that has left the outbox. It is immutable.
type Left struct {
	Message
	As   SentAs    `json:"as"`
	Gone time.Time `json:"gone"` // when that was recorded
}

// leftKept is how many of the messages that have left are remembered, the newest. The others are in the
// journal.
const leftKept = 100

// leftCount is how many messages have left in one way, as a snapshot has it.
type leftCount struct {
	As    SentAs `json:"as"`
	Count uint64 `json:"count"`
}

// LeftCounts returns how many messages have left since the directory's creation, by how.
func (o *Outbox) LeftCounts() map[SentAs]uint64 {
	return maps.Clone(o.leftCounts)
}

// NewestLeft returns the newest messages that have left, the oldest of them first.
func (o *Outbox) NewestLeft() []*Left {
	return slices.Clone(o.newestLeft)
}

// frozenCounts returns the counts in the order of Ways, without those that are 0.
func (o *Outbox) frozenCounts() (list []*leftCount) {
	for _, as := range Ways {
		if n := o.leftCounts[as]; n > 0 {
			list = append(list, &leftCount{As: as, Count: n})
		}
	}
	return list
}

// restoreCount puts back a count.
func (o *Outbox) restoreCount(x *leftCount) {
	o.leftCounts[x.As] = x.Count
}

// rememberLeft remembers one more message that has left, and forgets the oldest where there are enough.
func (o *Outbox) rememberLeft(x *Left) {
	if len(o.newestLeft) == leftKept {
		o.newestLeft = o.newestLeft[1:]
	}
	o.newestLeft = append(o.newestLeft, x)
}

// leave removes a message that has left.
func (o *Outbox) leave(now time.Time, id string, as SentAs) {
	o.leftCounts[as]++
	if m := o.messages[id]; m != nil {
		o.rememberLeft(&Left{Message: *m, As: as, Gone: now})
		if x, ok := newDelivery(m, as); ok {
			o.remember(x)
		}
	}
	o.remove(id)
}
