package load

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"sync"

	"waybill/store/durable"
)

// limit is a server that does no more than one on net/http must for a durable sale: it decodes the request
// with encoding/json, appends as many bytes as a sale takes in the journal under a sync that all share, and
// answers as many ready bytes as the sale's answer has. What Waybill is slower than that is its own.
type limit struct {
	load   *Load
	addr   string
	answer []byte
	line   []byte
	file   durable.File
	server *http.Server

	mu      sync.Mutex
	pending *sharedWrite // not yet taken by the writer
	kick    chan struct{}
	ended   chan struct{}
}

// sharedWrite is lines that one write and one sync make durable.
type sharedWrite struct {
	text []byte
	done chan struct{}
	err  error // read after done
}

// limitFile is where the limit's lines go: on the disk of the journal. A start of a server takes it away,
// should it be left there.
const limitFile = "limit.tmp"

// newLimit starts the limit of a load, on a port of its own.
func newLimit(l *Load) (*limit, error) {
	line, answer, err := l.sample()
	if err != nil {
		return nil, err
	}
	// What a load that was killed has left is in the way.
	err = durable.Dir(l.Dir).Remove(limitFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := durable.Dir(l.Dir).Create(limitFile)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, file.Close(), durable.Dir(l.Dir).Remove(limitFile))
	}
	x := &limit{
		load:    l,
		addr:    ln.Addr().String(),
		answer:  answer,
		line:    make([]byte, line),
		file:    file,
		pending: &sharedWrite{done: make(chan struct{})},
		kick:    make(chan struct{}, 1),
		ended:   make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v2/bookings", x.sell)
	x.server = &http.Server{Handler: mux}
	go x.server.Serve(ln)
	go x.write()
	return x, nil
}

// sell makes a sale.
func (x *limit) sell(w http.ResponseWriter, r *http.Request) {
	var in struct {
		OfferID, Currency string
		Passengers        []struct {
			FirstName, LastName, Email string
			Phones                     []struct{ Phone string }
		}
	}
	// As strict as encoding/json can be.
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// Its line goes with those of all who come while the last write is under way.
	x.mu.Lock()
	mine := x.pending
	mine.text = append(mine.text, x.line...)
	x.mu.Unlock()
	select {
	case x.kick <- struct{}{}:
	default:
	}
	<-mine.done
	if mine.err != nil {
		http.Error(w, mine.err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(x.answer)))
	w.WriteHeader(http.StatusCreated)
	w.Write(x.answer)
}

// write makes durable what is pending, until kick is closed.
func (x *limit) write() {
	defer close(x.ended)
	for range x.kick {
		x.mu.Lock()
		batch := x.pending
		x.pending = &sharedWrite{done: make(chan struct{})}
		x.mu.Unlock()
		_, batch.err = x.file.Write(batch.text)
		if batch.err == nil {
			batch.err = x.file.Sync()
		}
		close(batch.done)
	}
}

// close ends the limit and takes its file away.
func (x *limit) close() {
	x.server.Shutdown(context.Background()) // its clients have gone, or are about to
	close(x.kick)
	<-x.ended
	x.file.Close()
	durable.Dir(x.load.Dir).Remove(limitFile)
}
