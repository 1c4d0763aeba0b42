package rig

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"waybill/server/proof/witness"
	"waybill/store/note"
)

// Cosigner is a witness of ours (C2SP tlog-witness), written from the specification, apart from the code
// that it checks. It keeps, for each log, what it has signed last.
type Cosigner struct {
	*httptest.Server
	name string
	Key  ed25519.PrivateKey

	Mu       sync.Mutex
	logs     map[string]string // the vkeys of the logs that it knows, by origin
	Sizes    map[string]uint64
	Roots    map[string][]byte
	Requests int
	Olds     []uint64 // how many lines it was said to have signed, each time that it was asked
	// spoil, unless it is nil, answers instead, and reports that it has.
	Spoil func(w http.ResponseWriter, r *http.Request) bool
}

// NewCosigner starts one, which knows no log yet.
func NewCosigner(t *testing.T, name string) *Cosigner {
	w := &Cosigner{
		name:  name,
		Key:   ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(len(name))}, 32)),
		logs:  map[string]string{},
		Sizes: map[string]uint64{},
		Roots: map[string][]byte{},
	}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

// VKey is what its signatures are verified with.
func (w *Cosigner) VKey() note.Key {
	return note.NewWitnessKey(w.name, w.Key.Public().(ed25519.PublicKey))
}

// Peer is the witness as a server's configuration has it.
func (w *Cosigner) Peer() witness.Peer { return witness.Peer{URL: w.URL, Key: w.VKey()} }

func (w *Cosigner) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Requests++
	if w.Spoil != nil && w.Spoil(rw, r) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	head, signed, found := strings.Cut(string(body), "\n\n")
	lines := strings.Split(head, "\n")
	old, err := strconv.ParseUint(strings.TrimPrefix(lines[0], "old "), 10, 64)
	w.Olds = append(w.Olds, old)
	text, _, ended := strings.Cut(signed, "\n\n")
	fields := strings.Split(text, "\n")
	if r.Method != "POST" || r.URL.Path != "/add-checkpoint" || !found || err != nil || !ended ||
		len(fields) < 3 ||
		len(lines) > 64 {
		http.Error(rw, "bad request", http.StatusBadRequest)
		return
	}
	vkey, known := w.logs[fields[0]]
	if !known {
		http.Error(rw, "unknown log", http.StatusNotFound)
		return
	}
	key, _ := note.ParseKey(vkey)
	n, err := note.Parse([]byte(signed))
	if err == nil {
		_, err = n.Verify(key)
	}
	if err != nil {
		http.Error(rw, "bad signature", http.StatusForbidden)
		return
	}
	size, _ := strconv.ParseUint(fields[1], 10, 64)
	root, _ := base64.StdEncoding.DecodeString(fields[2])
	switch {
	case old > size:
		http.Error(rw, "bad request", http.StatusBadRequest)
		return
	case old != w.Sizes[fields[0]]:
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(http.StatusConflict)
		fmt.Fprintf(rw, "%d\n", w.Sizes[fields[0]])
		return
	}
	var proof [][]byte
	for _, line := range lines[1:] {
		hash, _ := base64.StdEncoding.DecodeString(line)
		proof = append(proof, hash)
	}
	if !consistent(proof, old, size, w.Roots[fields[0]], root) {
		http.Error(rw, "bad consistency proof", http.StatusUnprocessableEntity)
		return
	}
	w.Sizes[fields[0]], w.Roots[fields[0]] = size, root
	fmt.Fprint(rw, w.Cosign(text+"\n"))
}

// Cosign returns the line of tlog-cosignature.
func (w *Cosigner) Cosign(text string) string {
	const at = 1_795_000_000
	return w.CosignAt(text, at)
}

// CosignAt returns it with a time, in seconds.
func (w *Cosigner) CosignAt(text string, at uint64) string {
	public := w.Key.Public().(ed25519.PublicKey)
	id := sha256.Sum256(slices.Concat([]byte(w.name), []byte("\n\x04"), public))
	signature := ed25519.Sign(w.Key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text))
	raw := slices.Concat(id[:4], binary.BigEndian.AppendUint64(nil, at), signature)
	return "— " + w.name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// consistent checks a proof as RFC 9162, 2.1.4.2, says it.
func consistent(proof [][]byte, first, second uint64, firstRoot, secondRoot []byte) bool {
	node := func(left, right []byte) []byte {
		sum := sha256.Sum256(slices.Concat([]byte{1}, left, right))
		return sum[:]
	}
	switch {
	case first == 0:
		return len(proof) == 0
	case first == second:
		return len(proof) == 0 && bytes.Equal(firstRoot, secondRoot)
	}
	if first&(first-1) == 0 {
		proof = append([][]byte{firstRoot}, proof...)
	}
	if len(proof) == 0 {
		return false
	}
	fn, sn := first-1, second-1
	for fn&1 == 1 {
		fn >>= 1
		sn >>= 1
	}
	fr, sr := proof[0], proof[0]
	for _, c := range proof[1:] {
		if sn == 0 {
			return false
		}
		if fn&1 == 1 || fn == sn {
			fr, sr = node(c, fr), node(c, sr)
			for fn&1 == 0 && fn != 0 {
				fn >>= 1
				sn >>= 1
			}
		} else {
			sr = node(sr, c)
		}
		fn >>= 1
		sn >>= 1
	}
	return bytes.Equal(fr, firstRoot) && bytes.Equal(sr, secondRoot) && sn == 0
}
