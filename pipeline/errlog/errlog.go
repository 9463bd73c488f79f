// Package trouble writes down why calls inside the pipeline failed, for who runs
// it: callers are told a code and a few words that give nothing away, and a fault
// that nobody sees is never mended. It knows neither the calls nor who makes them.
//
// It writes a line for a kind of failure when it first comes, and then at most
// one per [Every] with how many there were between: a logger without its database
// fails as often as it is called, and there is no line per message (ms-M02). What
// a caller did wrong is his business, and is not written down.
//
// A line has no entry in it, since an error's text has none by contract, is no
// longer than [TextLimit], and has what was named as secret blotted out.
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

// Every is the least time between two lines of one kind.
const Every = time.Second

// TextLimit is how many bytes of an error's text are written at most.
const TextLimit = 300

// Options say what is written.
type Options struct {
	Part string // who writes: "logger"
	// Faults leaves out peers that are away: who has ended one knows.
	Faults bool
	// Secrets are texts that no line may hold: passwords, and addresses with one.
	Secrets []string
	// Now is the time; nil: time.Now.
	Now func() time.Time
}

// Notes are a process's lines, for any number of goroutines. Nil Notes write nothing.
type Notes struct {
	options Options
	log     *slog.Logger

	mu    sync.Mutex // guards all below, and that lines come one after the other
	kinds map[kind]*kept
}

// kind is what failures have in common. There are few: what is done, by name, and
// the codes.
type kind struct {
	what string
	code wirelab.Code
}

// kept is what is known of a kind.
type kept struct {
	written time.Time
	more    int // since then
	last    error
}

// New returns notes that are written to w, a line each as package slog's text is.
func New(w io.Writer, o Options) *Notes {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Notes{
		options: o, kinds: map[kind]*kept{},
		log: slog.New(slog.NewTextHandler(w, nil)).With("part", o.Part),
	}
}

// Note takes down that something, named by a constant such as "store an entry",
// ended so. nil is no failure. What it costs is a lock and a look at a map.
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

// told reports whether failures of a code are written down.
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

// Close writes what was held back. Notes may go on.
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

// write writes a line; n.mu is held.
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

// clean is a text as it may be written.
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
