// Package vary has a server answer otherwise, wherever the interface leaves open how it answers, so that no
// client leans on what this program happens to do (decision bench.vary).
//
// A [Variation] stands at the edge of a server, between its clients and all of its rooms:
//
//	v := vary.New(7)
//	next.ServeHTTP(held, v.Request(r)) // ids have lost their suffixes
//	body := v.Answer(held.Bytes())     // {"data":{"total":…}} has other words, another order, a member more
//
// What it makes of an answer follows from its number and from the answer, and from nothing else. So the same
// request gets the same answer, and a repetition under an Idempotency-Key its first one. No room knows of it:
// the journal, and all that is made from it, is as it would be without.
package vary

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Variation is what a number chooses of all that the interface leaves open. It may be used from any
// goroutine.
type Variation struct{ number uint64 }

// New returns the variation of a number.
func New(number uint64) *Variation {
	return &Variation{number}
}

// chance returns what chooses for a purpose. It chooses the same each time for the same subject.
func (v *Variation) chance(purpose, subject string) *rand.Rand {
	of := fmt.Appendf(nil, "waybill vary v1\n%d\n%s\n%s", v.number, purpose, subject)
	return rand.New(rand.NewChaCha8(sha256.Sum256(of)))
}

// In reports whether answers by a path vary: those that the interface is about.
func In(path string) bool {
	return strings.HasPrefix(path, "/v2/") || strings.HasPrefix(path, "/rest/")
}
