// Package dashboard is a web page and an HTTP API over stored results: lists,
// reports, comparisons, histories and what runs now. It knows results and the
// store's interface; what is claimed on its pages it takes from room result and
// says in the words of room report, and how anything was measured it does not
// know. It reads; it takes results in and removes them only for those who have
// the token that it was started with.
package dashboard

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"wirelab"
	"wirelab/results/store"
	"wirelab/wire/rebinding"
)

// Config is what a dashboard is made of.
type Config struct {
	// Store is read, and written only with a Token. The caller closes it.
	Store store.Store
	// Token lets its bearers put and delete results; "" lets nobody. It has at
	// least [TokenLength] characters, so that nobody guesses it.
	Token string
	// Version tells builds apart, since pages are made by code: a report that a
	// browser keeps is good only as long as its result and the build are the same.
	Version string
	// Log is told of errors that callers are told nothing of. It must be set.
	Log *slog.Logger
}

// TokenLength is how many characters a token has at least.
const TokenLength = 16

// The bounds of what is served. Whoever needs more has a proxy in front.
const (
	headerTime = 5 * time.Second  // to send a request's head
	readTime   = 60 * time.Second // to send all of it
	idleTime   = 60 * time.Second
	stopTime   = 5 * time.Second // for answers in progress when it stops
	headerSize = 32 << 10
	uploadSize = 64 << 20 // bytes of a result that is put
	atOnce     = 64       // requests, streams apart
	readers    = 64       // streams of news
)

// limits are how long an answer may take. Tests of what is answered have other ones: a machine
// with much to do needs more time, which is no fault of the answer.
type limits struct {
	work  time.Duration // to answer a request
	place time.Duration // to wait for a place among those that are answered
	// gist is for a page's results of which no gist is kept: those that an earlier wirelab stored.
	// What it does not come to is looked at when the page is asked for again.
	gist time.Duration
}

var usual = limits{work: 30 * time.Second, place: 5 * time.Second, gist: 2 * time.Second}

// Dashboard serves a store's results.
type Dashboard struct {
	config Config
	limits limits
	token  [sha256.Size]byte
	pages  *pages
	// description is the OpenAPI document.
	description []byte
	known       *cache[*record] // what histories know of results
	made        *cache[[]byte]  // reports
	busy        chan struct{}   // a place for each request
	heavy       chan struct{}   // a place for each that computes
	open        chan struct{}   // a place for each stream
	news        news
}

// New makes a dashboard. Its error is InvalidArgument: a token too short.
func New(c Config) (*Dashboard, error) {
	if c.Token != "" && len(c.Token) < TokenLength {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"the token has %d characters; give it %d or more, as from openssl rand -hex 16", len(c.Token), TokenLength)
	}
	p, err := newPages()
	if err != nil {
		return nil, err
	}
	return &Dashboard{
		config: c, limits: usual, token: sha256.Sum256([]byte(c.Token)), pages: p, description: description(),
		known: newCache[*record](knownResults), made: newCache[[]byte](madeBytes),
		busy: make(chan struct{}, atOnce), heavy: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
		open: make(chan struct{}, readers),
	}, nil
}

// Serve serves until ctx ends, then lets answers in progress end for 5 s and
// tells streams at once. On a loopback address it answers only requests to
// localhost and IP addresses: a page elsewhere whose name is made to point here must not
// read results (DNS rebinding).
func (d *Dashboard) Serve(ctx context.Context, at net.Listener) error {
	address, tcp := at.Addr().(*net.TCPAddr)
	server := &http.Server{
		Handler:           d.handler(ctx, !tcp || address.IP.IsLoopback()),
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, IdleTimeout: idleTime, MaxHeaderBytes: headerSize,
		ErrorLog: slog.NewLogLogger(d.config.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(at) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := server.Shutdown(patience)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // what is left is cut off
	}
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// handler is all that is served; news streams end with ending.
func (d *Dashboard) handler(ending context.Context, loopback bool) http.Handler {
	routes := d.routes(ending)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		r.Pattern = "" // ours, not the mux's
		if loopback && !rebinding.Own(r.Host) {
			d.fail(w, r, &failure{
				http.StatusMisdirectedRequest, wirelab.PermissionDenied,
				"this dashboard listens on loopback and answers only to localhost and IP addresses",
			})
			return
		}
		routes.serve(d, w, r)
	})
}
