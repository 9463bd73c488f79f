// Package register knows the subscriptions that APIs of one node have open, by ids that their subscribers
// receive, so that an acknowledgement which comes another way than the messages finds them. It knows no wire.
// APIs that share a register take each other's acknowledgements.
package register

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// Usual is how many subscriptions a node takes at once, unless configured otherwise.
const Usual = 10_000

// Register holds subscriptions. Make one with [New].
type Register struct {
	limit int // assigned once

	mu    sync.Mutex // guards all below
	count int        // reserved
	feeds map[string]entry
}

type entry struct {
	feed  broker.Feed
	group bool
}

// New returns a register of at most limit subscriptions; 0: [Usual].
func New(limit int) *Register {
	if limit == 0 {
		limit = Usual
	}
	return &Register{limit: limit, feeds: map[string]entry{}}
}

// Reserve takes a place, before anything is asked of the broker, or refuses with
// ResourceExhausted. Release gives it back.
func (r *Register) Reserve() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count >= r.limit {
		return status.Errorf(status.ResourceExhausted,
			"this node has %d subscriptions, which is all that it takes: subscribe at another", r.count)
	}
	r.count++
	return nil
}

// Release is the opposite of a Reserve that succeeded.
func (r *Register) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count--
}

// Add notes a feed, of a group or not, under an id that begins with the node's, as [NodeOf] reads it, and has
// else a part that cannot be guessed: to know it is the right to acknowledge.
func (r *Register) Add(node uint64, feed broker.Feed, group bool) (id string) {
	id = strconv.FormatUint(node, 10) + "-" + strings.ToLower(rand.Text())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.feeds[id] = entry{feed, group}
	return id
}

// Remove forgets what Add noted.
func (r *Register) Remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.feeds, id)
}

// Find returns the feed of an id and whether it is a group's.
func (r *Register) Find(id string) (feed broker.Feed, group, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.feeds[id]
	return e.feed, e.group, ok
}

// NodeOf is the node that has the subscription of an id.
func NodeOf(id string) (node uint64, ok bool) {
	number, _, ok := strings.Cut(id, "-")
	node, err := strconv.ParseUint(number, 10, 64)
	return node, ok && err == nil
}

// Elsewhere is the member that has the subscription of an id which this node has not: only the node that
// delivers takes acknowledgements. NotFound: it is this node's, so it is over, or that of no member whose HTTP
// API is known.
func Elsewhere(ctx context.Context, b broker.Broker, id string) (broker.Member, error) {
	gone := status.Errorf(status.NotFound, "there is no such subscription, or it is over: what was not acknowledged "+
		"comes again")
	node, ok := NodeOf(id)
	if !ok {
		return broker.Member{}, gone
	}
	status, err := b.Status(ctx)
	if err != nil {
		return broker.Member{}, err
	}
	for _, m := range status.Members {
		if m.ID == node && node != status.Node && m.HTTP != "" {
			return m, nil
		}
	}
	return broker.Member{}, gone
}

// ErrElsewhere is what an API says of a subscription that a member has: nothing was done, and there it can be.
func ErrElsewhere(m broker.Member) error {
	return status.Errorf(status.Unavailable,
		"node %d delivers this subscription and alone takes its acknowledgements: "+
			"send them to %s", m.ID, m.HTTP)
}

// Gone is what an acknowledgement says whose feed ended between Find and its use: to the
// caller the subscription is not there, while its feed says Canceled, as to its subscriber.
// Where ctx, the acknowledgement's own, ended, err stays.
func Gone(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || status.CodeOf(err) != status.Canceled {
		return err
	}
	return status.Errorf(status.NotFound, "the subscription is over: what was not acknowledged comes again")
}
