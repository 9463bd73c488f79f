// Package dashboard serves web pages and an HTTP API over stored results: lists, reports, comparisons, histories and
// running experiments. It knows results and the interface of the store. Claims come from the packages below
// lab/result, and their words from package report. It must not know how anything was measured. It only reads, except
// that callers with the token it was started with may add and delete results.
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

// Config has what a dashboard is made from.
type Config struct {
	// Store is read. It is written only if there is a Token. The caller closes it.
	Store store.Store
	// Token allows its bearers to add and delete results; with "" no caller may. It has at least [TokenLength]
	// characters, so that it cannot be guessed.
	Token string
	// Version identifies the build. Pages are made by code, so a report in a browser's cache is valid only for the
	// same result and the same build.
	Version string
	// Log receives the errors whose text callers must not see. It must be set.
	Log *slog.Logger
}

// TokenLength is the least number of characters of a token.
const TokenLength = 16

// The limits of the server. Where they are not enough, put a proxy in front.
const (
	headerTime = 5 * time.Second  // to send a request's head
	readTime   = 60 * time.Second // to send all of it
	idleTime   = 60 * time.Second
	stopTime   = 5 * time.Second // for requests in progress when it stops
	headerSize = 32 << 10
	uploadSize = 64 << 20 // bytes of an uploaded result
	atOnce     = 64       // requests, streams not counted
	readers    = 64       // streams of running experiments
)

// limits is how long an answer may take. Tests of the answers' content use longer limits, since a busy machine needs
// more time.
type limits struct {
	work  time.Duration // to answer a request
	place time.Duration // to wait for a free place among the running requests
	// gist limits the time for making the gists that are not stored, which is so for results that an earlier version
	// stored. Those not reached are made when the page is requested again.
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
	known       *cache[*record] // the records for histories
	made        *cache[[]byte]  // reports
	busy        chan struct{}   // a place for each request in progress
	heavy       chan struct{}   // a place for each request that computes
	open        chan struct{}   // a place for each open stream
	news        news
}

// New makes a dashboard. It returns InvalidArgument if the token is too short.
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

// Serve serves until ctx ends. Then it ends streams at once, and waits up to 5 s for answers in progress. On a
// loopback address it answers only requests to localhost and to IP addresses: otherwise a page from elsewhere, whose
// host name resolves to this address, could read results (DNS rebinding).
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
		err = server.Close() // closes the connections that are left
	}
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// handler returns the handler for all requests. Streams end with ending.
func (d *Dashboard) handler(ending context.Context, loopback bool) http.Handler {
	routes := d.routes(ending)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		r.Pattern = "" // routes sets it, not a mux
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
