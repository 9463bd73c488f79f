// Package errlog logs why calls inside the pipeline failed, for its operator. Callers get only a code and a short
// message without internal details, so without this log a fault would stay unseen. The package knows neither the
// calls nor the callers.
//
// It writes a line when a kind of failure first occurs, and then at most one line per [Every], with the number of
// failures in between: a logger without its database fails as often as it is called, and there must be no line per
// message (ms-M02). Mistakes of callers are not logged.
//
// A line contains no entry, since by contract error texts contain none. It has at most [TextLimit] bytes of error
// text, with the configured secrets replaced.
package errlog

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"wirelab"
)

// Every is the minimum time between two lines of one kind.
const Every = time.Second

// TextLimit is the maximum number of bytes of an error text in a line.
const TextLimit = 300

// Options configure the log.
type Options struct {
	Part string // the process that writes: "logger"
	// Faults leaves out unavailable peers: during fault injection they are expected.
	Faults bool
	// Secrets are texts that no line may contain: passwords, and addresses with one.
	Secrets []string
	// Now returns the time; nil: time.Now.
	Now func() time.Time
}

// Notes is the log of a process. It may be used by any number of goroutines. A nil *Notes writes nothing.
type Notes struct {
	options Options
	log     *slog.Logger

	mu    sync.Mutex // guards all below, and keeps lines whole
	kinds map[kind]*kept
}

// kind identifies failures that share lines. There are few: the names of the actions times the codes.
type kind struct {
	what string
	code wirelab.Code
}

// kept is the state of a kind.
type kept struct {
	written time.Time
	more    int // since then
	last    error
}

// New returns notes that are written to w, one line each in the text format of package slog.
func New(w io.Writer, o Options) *Notes {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Notes{
		options: o, kinds: map[kind]*kept{},
		log: slog.New(slog.NewTextHandler(w, nil)).With("part", o.Part),
	}
}

// Note logs that an action, named by a constant such as "store an entry", ended with err. nil is no failure. The
// cost is a lock and a map lookup.
func (n *Notes) Note(what string, err error) {
	if n == nil || err == nil {
		return
	}
	code := wirelab.CodeOf(err)
	if !n.told(code) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.kinds[kind{what, code}]
	if at == nil {
		at = &kept{}
		n.kinds[kind{what, code}] = at
	}
	now := n.options.Now()
	if !at.written.IsZero() && now.Sub(at.written) < Every {
		at.more, at.last = at.more+1, err
		return
	}
	n.write(what, code, err, at.more)
	*at = kept{written: now}
}

// told reports whether failures with a code are logged.
func (n *Notes) told(code wirelab.Code) bool {
	switch code {
	case wirelab.Internal, wirelab.Unauthenticated, wirelab.PermissionDenied:
		return true
	case wirelab.Unavailable, wirelab.DeadlineExceeded, wirelab.ResourceExhausted:
		return !n.options.Faults
	case wirelab.InvalidArgument, wirelab.NotFound, wirelab.Conflict, wirelab.Canceled, wirelab.Unimplemented:
	}
	return false
}

// Close writes the lines that were held back. The notes can still be used.
func (n *Notes) Close() error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for k, at := range n.kinds {
		if at.more > 0 {
			n.write(k.what, k.code, at.last, at.more-1)
			at.more = 0
		}
	}
	return nil
}

// write writes a line; n.mu must be held.
func (n *Notes) write(what string, code wirelab.Code, err error, more int) {
	level := slog.LevelWarn
	if code == wirelab.Internal {
		level = slog.LevelError
	}
	with := []slog.Attr{slog.String("code", code.String()), slog.String("error", n.clean(err.Error()))}
	if more > 0 {
		with = append(with, slog.Int("more", more))
	}
	n.log.LogAttrs(context.Background(), level, "failed: "+what, with...)
}

// clean returns a text without secrets and control characters, of bounded length.
func (n *Notes) clean(text string) string {
	for _, secret := range n.options.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	if len(text) <= TextLimit {
		return text
	}
	cut := TextLimit
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
