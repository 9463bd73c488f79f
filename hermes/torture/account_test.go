package torture

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/wire/status"
)

// account is what was published and what became of it, by id.
type account struct {
	mu    sync.Mutex
	acked map[uint64]client.Receipt
	taken map[uint64]bool // handed to the client, answered or not
	// answers are the moments of acknowledgements with the leader's term.
	answers []answer
	failure error // the last
	failed  atomic.Int64
	watcher *watcher // nil: there is no subscriber
	grouped count    // what a group was given instead
}

type answer struct {
	at   time.Time
	sent time.Time
	term uint64
}

// body is a message whose id and content can be checked.
func body(id uint64, size int) []byte {
	r := rand.New(rand.NewPCG(id, 7))
	b := make([]byte, 16+size)
	binary.LittleEndian.PutUint64(b, id)
	for i := 16; i < len(b); i++ {
		b[i] = byte(r.Uint32())
	}
	binary.LittleEndian.PutUint32(b[8:], crc32.ChecksumIEEE(b[16:]))
	return b
}

// read is the id of a body, if it is whole.
func read(b []byte) (uint64, error) {
	if len(b) < 16 || binary.LittleEndian.Uint32(b[8:]) != crc32.ChecksumIEEE(b[16:]) {
		return 0, fmt.Errorf("a body of %d bytes that was not written", len(b))
	}
	return binary.LittleEndian.Uint64(b), nil
}

// publish publishes so many messages a second until ctx ends, and waits for the
// last answers.
func (a *account) publish(ctx context.Context, t *testing.T, c *client.Client, topic string, perSecond int) {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for next := uint64(0); ctx.Err() == nil; {
		for due := uint64(time.Since(began).Seconds() * float64(perSecond)); next < due; next++ {
			id, sent := next, time.Now()
			a.mu.Lock()
			a.taken[id] = true
			a.mu.Unlock()
			err := c.Send(ctx, topic, hermes.Consistent, &hermes.Message{Payload: body(id, int(id%300))},
				func(r client.Receipt, err error) {
					a.answered(id, sent, r, err)
				})
			if err != nil {
				break // the end; what was not taken is tried no more
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := c.Flush(last); err != nil {
		t.Errorf("the last answers: %v", err)
	}
}

func (a *account) answered(id uint64, sent time.Time, r client.Receipt, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.failure = err
		a.failed.Add(1)
		return
	}
	a.acked[id] = r
	a.answers = append(a.answers, answer{time.Now(), sent, r.Term})
}

// back is how long after a moment a message that was sent after it was
// acknowledged, by a leader of a later term than before.
func (a *account) back(after time.Time) (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var term uint64
	for _, one := range a.answers {
		if one.at.Before(after) {
			term = max(term, one.term)
		}
	}
	for _, one := range a.answers {
		if one.at.After(after) && one.term > term {
			return one.at.Sub(after), true
		}
	}
	return 0, false
}

// after is how long after a moment a message that was sent after it was acknowledged.
func (a *account) after(moment time.Time) (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.answers); n == 0 || a.answers[n-1].at.Before(moment) {
		return 0, false
	}
	for _, one := range a.answers {
		if one.sent.After(moment) {
			return one.at.Sub(moment), true
		}
	}
	return 0, false
}

// gap is the longest time between two acknowledgements.
func (a *account) gap() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var longest time.Duration
	for i := 1; i < len(a.answers); i++ {
		longest = max(longest, a.answers[i].at.Sub(a.answers[i-1].at))
	}
	return longest
}

// count is how many messages are acknowledged.
func (a *account) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.acked)
}

// settle reads a topic from its beginning and holds it to the account: all that
// was acknowledged is there once, at its offset, whole, in the order in which it was sent;
// nothing is there twice or was never sent. What retention gave up is counted apart.
func (a *account) settle(ctx context.Context, t *testing.T, c *client.Client, topic string) {
	t.Helper()
	state, err := c.Topic(ctx, topic, true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Subscribe(ctx, broker.Start{Topic: topic, From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(ctx) }() // no group: nothing to store
	n := a.grouped
	n.Test, n.Failed = t.Name(), int(a.failed.Load())
	if a.watcher != nil {
		a.watcher.settle(ctx, t, state.First, state.Next, &n)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	where := map[uint64]uint64{}
	last := uint64(0)
	for next := state.First; next < state.Next; next++ {
		d, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("at offset %d of %d: %v", next, state.Next, err)
		}
		if d.Offset != next {
			t.Fatalf("offset %d comes where %d must", d.Offset, next)
		}
		id, err := read(d.Payload)
		if err != nil || !a.taken[id] {
			n.Corrupted++
			continue
		}
		if _, twice := where[id]; twice {
			n.Doubled++
		} else if id < last {
			n.Reordered++
		}
		last = max(last, id)
		where[id] = d.Offset
	}
	for id, r := range a.acked {
		at, ok := where[id]
		switch {
		case !ok && r.Offset < state.First:
			n.Trimmed++
		case !ok:
			n.Missing++
		case at != r.Offset:
			n.Moved++
		}
	}
	n.Sent, n.Acknowledged, n.Stored = len(a.taken), len(a.acked), len(where)
	found.accounts(&n)
	t.Logf("%+v", n)
	if !n.even() {
		t.Error("the account does not come out even")
	}
	if len(a.acked) == 0 {
		t.Error("nothing was acknowledged")
	}
}

func newAccount() *account {
	return &account{acked: map[uint64]client.Receipt{}, taken: map[uint64]bool{}}
}

// leader waits until a node leads.
func leader(ctx context.Context, t *testing.T, c *client.Client) uint64 {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		s, err := c.Status(ctx)
		if err == nil && s.Leader != 0 {
			return s.Leader
		}
		if err != nil && status.CodeOf(err) != status.Unavailable {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
			t.Fatal("no node leads")
		case <-again.C:
		}
	}
}
