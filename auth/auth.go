// Package auth remembers partners, users and their sessions, and decides which of them is calling.
//
// Partners call with an API key ([Partners]), users of companies in a session ([Accounts]). Of keys, tokens
// and passwords only hashes are remembered. API keys and the tokens of sessions are random ([NewKey],
// [NewToken]), by a source that the caller gives. A password is derived slowly, and checked by [IsPassword].
// The tokens of offers are signed by a [Ring], so that what was shown is what is charged, without anything
// being stored per offer:
//
//	key, hash := auth.NewKey(rand.Reader)
//	ring := auth.NewRing([]auth.SigningKey{auth.NewSigningKey(rand.Reader, 0)})
//	token := ring.Sign(nil, payload) // payload[0] is spare
//	payload, err := ring.Open(string(token))
//
// The package reads no clock, and no files but those of keys.
package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"waybill/schedule/ids"
)

// Decode64 decodes URL-safe base64 that is written in its one form: no padding, line breaks or stray bits;
// else nil.
func Decode64(s string) []byte {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil
	}
	return b
}

// Hash is the SHA-256 of an API key or a session's token. These are 256 random bits, so a plain hash cannot
// be guessed back.
type Hash [32]byte

// String returns the hash in hex.
func (h Hash) String() string {
	return hex.EncodeToString(h[:])
}

// MarshalText writes the hash in hex.
func (h Hash) MarshalText() ([]byte, error) {
	return []byte(h.String()), nil
}

// UnmarshalText reads a hash in hex.
func (h *Hash) UnmarshalText(text []byte) error {
	n, err := hex.Decode(h[:], text[:min(len(text), 2*len(h))])
	if err != nil || 2*n != len(text) || n != len(h) {
		return fmt.Errorf("auth: %q is not a hash", text)
	}
	return nil
}

// HashOf returns the hash of a secret.
func HashOf(secret string) Hash {
	return sha256.Sum256([]byte(secret))
}

// Partner is one who distributes tickets. It is immutable; a change makes a new one.
type Partner struct {
	ID        ids.ID    `json:"id"`
	Name      string    `json:"name"`
	Companies []string  `json:"companies"` // slugs of the only companies it may sell; empty is all
	Created   time.Time `json:"created"`
	Keys      []Key     `json:"keys"`
	// its last legacy call that was journalled: the first of a day
	Legacy time.Time `json:"legacy,omitzero"`

	use *atomic.Int64 // its last legacy call, in Unix milliseconds, as far as this process knows
}

// Key is one of a partner's API keys.
type Key struct {
	Hash    Hash      `json:"hash"`
	Created time.Time `json:"created"`
	Revoked time.Time `json:"revoked,omitzero"` // zero: valid
}

// KeyAdded says that a partner got a key, its first or a further one.
type KeyAdded struct {
	Partner   ids.ID   `json:"partner"`
	Name      string   `json:"name"`
	Companies []string `json:"companies"`
	Hash      Hash     `json:"keyHash"`
}

// KeysRevoked says that keys of a partner are no longer valid.
type KeysRevoked struct {
	Partner ids.ID `json:"partner"`
	Hashes  []Hash `json:"keyHashes"`
}

// Partners is all that is remembered of partners. It has no method that changes it: see [PartnerRecorder].
type Partners struct {
	list   []*Partner // in the order they were added
	byKey  map[Hash]int
	byID   map[ids.ID]int
	byName map[string]int
}

// PartnerRecorder is Partners with the methods that change them, each as an event says. The package that
// makes the Partners holds their one recorder, and hands out the Partners alone.
type PartnerRecorder struct{ *readPartners }

type readPartners = Partners // under a name that no other package can set the field by

// NewPartners returns an empty list.
func NewPartners() PartnerRecorder {
	return PartnerRecorder{&Partners{
		byKey:  map[Hash]int{},
		byID:   map[ids.ID]int{},
		byName: map[string]int{},
	}}
}

// Partners returns what is recorded, to read and to decide on.
func (p PartnerRecorder) Partners() *Partners { return p.readPartners }

// All returns the partners in the order they were added.
func (p *Partners) All() []*Partner {
	return slices.Clone(p.list)
}

// ByName finds a partner by its name or id.
func (p *Partners) ByName(name string) *Partner {
	if i, known := p.byName[name]; known {
		return p.list[i]
	}
	var id ids.ID
	if id.UnmarshalText([]byte(name)) != nil {
		return nil
	}
	return p.ByID(id)
}

// ByID finds a partner; nil is nobody.
func (p *Partners) ByID(id ids.ID) *Partner {
	if i, known := p.byID[id]; known {
		return p.list[i]
	}
	return nil
}

// MayCall reports whether the partner has a key that is valid.
func (p *Partner) MayCall() bool {
	return slices.ContainsFunc(p.Keys, func(k Key) bool { return k.Revoked.IsZero() })
}

// Caller finds the partner whose valid key has that hash; nil is nobody. Where a map looks reveals nothing of
// a key.
func (p *Partners) Caller(hash Hash) *Partner {
	i, known := p.byKey[hash]
	good := func(k Key) bool {
		return subtle.ConstantTimeCompare(k.Hash[:], hash[:]) == 1 && k.Revoked.IsZero()
	}
	if known && slices.ContainsFunc(p.list[i].Keys, good) {
		return p.list[i]
	}
	return nil
}

// AddKey decides on a new key: a further one for a known name, whose companies stay, else a new partner's
// first.
func (p *Partners) AddKey(id ids.ID, name string, companies []string, hash Hash) (*KeyAdded, error) {
	if !utf8.ValidString(name) {
		return nil, errors.New("a partner's name is not valid UTF-8")
	}
	if strings.TrimSpace(name) == "" || utf8.RuneCountInString(name) > 100 ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return nil, fmt.Errorf("a partner's name must have 1 to 100 characters, not all blank, and no " +
			"control characters")
	}
	e := &KeyAdded{
		Partner:   id,
		Name:      name,
		Companies: companies,
		Hash:      hash,
	}
	if known := p.ByName(name); known != nil {
		if companies != nil && !slices.Equal(companies, known.Companies) {
			sells := "all companies"
			if len(known.Companies) > 0 {
				sells = "only " + strings.Join(known.Companies, ",")
			}
			return nil, fmt.Errorf("partner %q already exists, for %s; choose another name for other "+
				"companies", name, sells)
		}
		e.Partner = known.ID
		e.Name = known.Name
		e.Companies = known.Companies
	}
	return e, nil
}

// Revoke decides to end a partner's keys, or only the one whose hash starts with prefix.
func (p *Partners) Revoke(name, prefix string) (*KeysRevoked, error) {
	known := p.ByName(name)
	if known == nil {
		return nil, fmt.Errorf("there is no partner %q", name)
	}
	e := &KeysRevoked{Partner: known.ID}
	for _, k := range known.Keys {
		if k.Revoked.IsZero() && strings.HasPrefix(k.Hash.String(), prefix) {
			e.Hashes = append(e.Hashes, k.Hash)
		}
	}
	if len(e.Hashes) == 0 {
		which := ""
		if prefix != "" {
			which = " " + prefix
		}
		return nil, fmt.Errorf("partner %q has no valid key%s", name, which)
	}
	return e, nil
}

// ApplyKeyAdded adds a key, and the partner where it is new.
func (p PartnerRecorder) ApplyKeyAdded(at time.Time, e *KeyAdded) error {
	if p.ByID(e.Partner) == nil {
		p.Restore(&Partner{
			ID:        e.Partner,
			Name:      e.Name,
			Companies: e.Companies,
			Created:   at,
		})
	}
	n := p.renew(e.Partner)
	n.Keys = append(slices.Clone(n.Keys), Key{
		Hash:    e.Hash,
		Created: at,
	})
	p.byKey[e.Hash] = p.byID[e.Partner]
	return nil
}

// renew puts a copy of a partner in its place, for an event to change.
func (p PartnerRecorder) renew(id ids.ID) *Partner {
	i := p.byID[id]
	n := *p.list[i]
	p.list[i] = &n
	return &n
}

// known returns an error unless there is a partner.
func (p PartnerRecorder) known(id ids.ID) error {
	if p.ByID(id) == nil {
		return ids.Unknown("partner", id)
	}
	return nil
}

// ApplyKeysRevoked ends keys: from now on they name no caller. The error says that there is no such partner.
func (p PartnerRecorder) ApplyKeysRevoked(at time.Time, e *KeysRevoked) error {
	if err := p.known(e.Partner); err != nil {
		return err
	}
	n := p.renew(e.Partner)
	n.Keys = slices.Clone(n.Keys)
	for k := range n.Keys {
		if slices.Contains(e.Hashes, n.Keys[k].Hash) && n.Keys[k].Revoked.IsZero() {
			n.Keys[k].Revoked = at
		}
	}
	return nil
}

// Restore puts a partner back as a snapshot has it.
func (p PartnerRecorder) Restore(x *Partner) {
	for _, k := range x.Keys {
		p.byKey[k.Hash] = len(p.list)
	}
	x.use = new(atomic.Int64)
	p.byID[x.ID], p.byName[x.Name] = len(p.list), len(p.list)
	p.list = append(p.list, x)
}

const day = 24 * time.Hour

// LegacyWindow is how long the legacy interface stays after its deprecation, or a last call (interface,
// Limits).
const LegacyWindow = 90 * day

// ErrGone is the reason why not for a legacy call of a partner for whom the legacy interface is gone.
var ErrGone = errors.New("auth: the legacy interface is gone for the partner")

// LegacyUsed says that a partner called the legacy interface, for the first time on a day (UTC).
type LegacyUsed struct {
	Partner ids.ID `json:"partner"`
}

// Sells reports whether the partner may sell what a company runs, which is named by its slug.
func (p *Partner) Sells(company string) bool {
	return len(p.Companies) == 0 || slices.Contains(p.Companies, company)
}

// LastLegacy is the partner's last legacy call; zero is none. After a restart only its day is known: then it
// is that day's last instant, so that nobody loses the interface too early.
func (p *Partner) LastLegacy() time.Time {
	if ms := p.use.Load(); ms != 0 {
		return time.UnixMilli(ms).UTC()
	}
	if p.Legacy.IsZero() {
		return p.Legacy
	}
	return p.Legacy.Truncate(day).Add(day - time.Millisecond)
}

// LegacyUntil is when the legacy interface, deprecated at that instant, will be gone for the partner
// (decision legacy.sunset).
func (p *Partner) LegacyUntil(deprecated time.Time) time.Time {
	return slices.MaxFunc([]time.Time{deprecated, p.Created, p.LastLegacy()},
		time.Time.Compare).Add(LegacyWindow)
}

// UseLegacy decides on a legacy call, and counts it: the event to journal, nil where one of that day is. Its
// error is ErrGone.
func (p *Partners) UseLegacy(now, deprecated time.Time, id ids.ID) (*LegacyUsed, error) {
	caller := p.list[p.byID[id]]
	if !now.Before(caller.LegacyUntil(deprecated)) {
		return nil, ErrGone
	}
	caller.use.Store(now.UnixMilli())
	if caller.Legacy.Truncate(day).Equal(now.Truncate(day)) {
		return nil, nil
	}
	return &LegacyUsed{id}, nil
}

// ApplyLegacyUsed remembers the day of a call of the legacy interface.
func (p PartnerRecorder) ApplyLegacyUsed(at time.Time, e *LegacyUsed) error {
	if err := p.known(e.Partner); err != nil {
		return err
	}
	p.renew(e.Partner).Legacy = at
	return nil
}
