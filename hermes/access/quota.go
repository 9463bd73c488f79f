package access

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"wirelab/hermes"
	"wirelab/wire/status"
)

// quota is what a principal may use: of one node published messages, 0 as much as there is, and subscriptions;
// of the cluster groups and producers, 0 none.
type quota struct {
	messages, bytes int64 // published per second
	subscriptions   int64 // at once
	groups          int64 // that it made and that are there
	producers       int64 // of them the one silent for longest is forgotten beyond it
}

// usual is the quota of who has none in the policy: of each pool that all share so little that no principal takes
// it from the others.
var usual = quota{subscriptions: 2500, groups: hermes.GroupsLimit / 10, producers: hermes.ProducersLimit / 10}

// usage is what a principal uses. It outlives the policy that limits it, so that a
// reload neither fills buckets nor forgets subscriptions.
type usage struct {
	mu              sync.Mutex // guards all below
	quota           quota
	messages, bytes bucket
	subscriptions   int64

	made     sync.Once
	inFlight *semaphore.Weighted // bytes that are published and not answered
}

// overhead is what a run takes of a share in addition to its bytes, so that empty ones are bounded too.
const overhead = 128

// enter takes bytes of a share, as soon as there is room. A run that is larger than the share takes all of it.
func (u *usage) enter(ctx context.Context, bytes int, share int64) (taken int64, err error) {
	u.made.Do(func() { u.inFlight = semaphore.NewWeighted(share) })
	taken = min(int64(bytes)+overhead, share)
	if !u.inFlight.TryAcquire(taken) {
		if err := u.inFlight.Acquire(ctx, taken); err != nil {
			return 0, status.Public(err)
		}
	}
	return taken, nil
}

// bucket holds what may be used at once: one second's worth. A level below 0 is what
// was used ahead.
type bucket struct {
	level float64
	at    time.Time // when level was true; zero: it is full
}

// fill brings the level to now.
func (b *bucket) fill(rate float64, now time.Time) {
	if b.at.IsZero() {
		b.level = rate
	} else if passed := now.Sub(b.at); passed > 0 {
		b.level += rate * passed.Seconds()
	}
	b.level, b.at = min(b.level, rate), now
}

// lacks is how long until n may be used, or as much as there is when it is full.
func (b *bucket) lacks(rate, n float64) time.Duration {
	short := min(n, rate) - b.level
	if short <= 0 {
		return 0
	}
	return time.Duration(short / rate * float64(time.Second))
}

// limit takes a quota from a policy.
func (u *usage) limit(q quota) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.quota = q
}

// publish takes a run out of both buckets, or out of none.
func (u *usage) publish(now time.Time, messages, bytes int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.quota
	for _, l := range []struct {
		b       *bucket
		rate, n float64
		what    string
	}{
		{&u.messages, float64(q.messages), float64(messages), "messages"},
		{&u.bytes, float64(q.bytes), float64(bytes), "bytes"},
	} {
		if l.rate == 0 {
			continue
		}
		l.b.fill(l.rate, now)
		if wait := l.b.lacks(l.rate, l.n); wait > 0 {
			return status.Errorf(status.ResourceExhausted,
				"you may publish %.0f %s per second at this node: publish again in %v", l.rate, l.what,
				max(wait.Round(time.Millisecond), time.Millisecond))
		}
	}
	if q.messages > 0 {
		u.messages.level -= float64(messages)
	}
	if q.bytes > 0 {
		u.bytes.level -= float64(bytes)
	}
	return nil
}

// subscribe takes a place.
func (u *usage) subscribe() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if most := u.quota.subscriptions; most > 0 && u.subscriptions >= most {
		return status.Errorf(status.ResourceExhausted,
			"you may have %d subscriptions at once at this node, and have them: end one", most)
	}
	u.subscriptions++
	return nil
}

func (u *usage) unsubscribe() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.subscriptions--
}
