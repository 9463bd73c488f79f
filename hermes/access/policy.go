package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/internal/input"
	"wirelab/wire/status"
)

// Policy says who may do what. It is made by [Load] and may be loaded again while it
// is used; its methods are for any goroutine.
type Policy struct {
	file  string
	now   func() time.Time      // time.Now but in tests
	rules atomic.Pointer[rules] // replaced whole
	share atomic.Int64          // of each principal: see Share

	mu    sync.Mutex // guards all below; held over a reload
	text  []byte     // what rules were made of
	usage map[string]*usage
	feeds map[*feed]struct{} // that are open
}

// rules are what one version of the file says. They do not change.
type rules struct {
	grants map[string]*grant // by principal
	tokens []Principal       // one for each token
}

// right is what may be done with a topic.
type right int

const (
	publish right = iota
	subscribe
	admin
	rights int = iota
)

var rightNames = [rights]string{"publish", "subscribe", "admin"}

// grant is what a principal may.
type grant struct {
	name    string
	digests []digest
	topics  [rights]patterns
	seen    patterns // of the topics that it knows of
	cluster bool
	metrics bool // it sees the numbers of all topics and groups
	quota   quota
	usage   *usage // assigned before the rules are used
}

// Share bounds how many bytes of each principal may be published at once through this node and not answered yet.
// Who publishes more waits, as he does where the node itself has no room: no principal alone takes all of it.
// 0: there is no such bound. It is set before the policy is used.
func (p *Policy) Share(bytes int64) { p.share.Store(bytes) }

// Load reads and checks a policy, until ctx ends. NotFound: there is no such file; InvalidArgument: it
// is no policy, and where.
func Load(ctx context.Context, file string) (*Policy, error) {
	p := &Policy{file: file, now: time.Now, usage: map[string]*usage{}, feeds: map[*feed]struct{}{}}
	if _, err := p.Reload(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// Reload reads the file again and reports whether it had changed. What it says counts for the next call of
// every caller; subscriptions that are not allowed any more end. A file that is wrong changes nothing.
func (p *Policy) Reload(ctx context.Context) (changed bool, err error) {
	text, err := read(ctx, p.file)
	if err != nil {
		return false, err
	}
	return p.take(text)
}

// take makes a text the policy.
func (p *Policy) take(text []byte) (changed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text != nil && bytes.Equal(p.text, text) {
		return false, nil
	}
	r, err := parse(p.file, text)
	if err != nil {
		return false, err
	}
	used := make(map[string]*usage, len(r.grants))
	for name, g := range r.grants {
		if g.usage = p.usage[name]; g.usage == nil {
			g.usage = new(usage)
		}
		g.usage.limit(g.quota)
		used[name] = g.usage
	}
	p.text, p.usage = text, used
	p.rules.Store(r)
	for f := range p.feeds {
		if err := f.allowed(); err != nil {
			f.revoke(err)
		}
	}
	return true, nil
}

// sizeLimit is the most bytes that a policy may have.
const sizeLimit = 1 << 20

func read(ctx context.Context, file string) ([]byte, error) {
	text, err := input.File(ctx, file, sizeLimit)
	coded := new(status.Error)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, status.Errorf(status.NotFound, "there is no policy %s", file)
	case errors.As(err, &coded):
		return nil, status.Errorf(status.InvalidArgument, "policy %s: %s", file, coded.Message)
	case err != nil:
		return nil, fmt.Errorf("policy: %w", err)
	}
	return text, nil
}

// Follow loads the policy again whenever its file has changed, until ctx ends. It looks at the file's bytes:
// times of change are coarse, and files that are links to others change without them. A file must be the same
// at two looks, since one that is half written would throw out those that are not in it yet. logger learns what
// came of it; nil: not reported.
func (p *Policy) Follow(ctx context.Context, every time.Duration, logger *slog.Logger) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var w watch
	var last string // what was wrong, so that it is reported once
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, settled, err := w.look(ctx, p)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && err.Error() != last:
			last = err.Error()
			logger.ErrorContext(ctx, "the policy cannot be read again; what it said before counts", "error", err)
		case err == nil && settled && (changed || last != ""):
			last = ""
			logger.InfoContext(ctx, "the policy was read again", "principals", len(p.rules.Load().grants))
		}
	}
}

// watch is what was seen of a policy's file.
type watch struct{ seen []byte }

// look takes the file if it is what it was at the last look: settled.
func (w *watch) look(ctx context.Context, p *Policy) (changed, settled bool, err error) {
	text, err := read(ctx, p.file)
	if err != nil {
		return false, false, err
	}
	settled = bytes.Equal(text, w.seen)
	w.seen = text
	if settled {
		changed, err = p.take(text)
	}
	return changed, settled, err
}

// Authenticate tells whose token it is; an unknown one is Unauthenticated. All tokens are compared, each in
// constant time, so that time tells neither whether nor where one is alike.
func (p *Policy) Authenticate(token string) (Principal, error) {
	shown := Principal{digest: sha256.Sum256([]byte(token))}
	tokens := p.rules.Load().tokens
	found := -1
	for i := range tokens {
		same := subtle.ConstantTimeCompare(tokens[i].digest[:], shown.digest[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return Principal{}, errUnknown
	}
	return tokens[found], nil
}

// caller is what the caller may.
func (p *Policy) caller(ctx context.Context) (Principal, *grant, error) {
	who, ok := From(ctx)
	if !ok {
		return who, nil, errNoToken
	}
	g, err := p.granted(who)
	return who, g, err
}

// granted is what a principal may now. One whose token the policy does not have any more is no caller, also on
// a stream that it opened before.
func (p *Policy) granted(who Principal) (*grant, error) {
	g := p.rules.Load().grants[who.name]
	if g == nil {
		return nil, errUnknown
	}
	for i := range g.digests {
		if subtle.ConstantTimeCompare(g.digests[i][:], who.digest[:]) == 1 {
			return g, nil
		}
	}
	return nil, errUnknown
}

// Numbers reports for which topics, and their groups, the caller may see the numbers: those that
// it sees itself, and all of them with the right metrics. Without a principal it is none.
func (p *Policy) Numbers(ctx context.Context) (topic, groups func(topic string) bool) {
	_, g, err := p.caller(ctx)
	switch {
	case err != nil:
		none := func(string) bool { return false }
		return none, none
	case g.metrics:
		all := func(string) bool { return true }
		return all, all
	}
	return g.seen.cover, func(topic string) bool { return g.may(topic, subscribe, admin) == nil }
}

// may refuses who has none of the rights on a topic.
func (g *grant) may(topic string, any ...right) error {
	for _, r := range any {
		if g.topics[r].cover(topic) {
			return nil
		}
	}
	return status.Errorf(status.PermissionDenied, "%s has no right to %s on topic %.100q", g.name, rightNames[any[0]],
		topic)
}

// leads refuses who may not change the cluster.
func (g *grant) leads() error {
	if !g.cluster {
		return status.Errorf(status.PermissionDenied, "%s has no right to change the cluster", g.name)
	}
	return nil
}
