package conformance

import (
	"context"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"wirelab"
)

// bell is an event of a separate feed: the check of feeds reads stubs, and needs no wire to be tried on faults
// that a wire would have.
type bell struct {
	Tone int
	wirelab.Stamp
}

func (b bell) Equal(other bell) bool { return b.Tone == other.Tone && b.Sequence == other.Sequence }

type ring struct{ Rate int64 }

// tower rings, and has a fault with one event in ten thousand, or in its stamps.
type tower struct{ fault string }

func (s tower) Ring(ctx context.Context, asked ring) iter.Seq2[bell, error] {
	return func(yield func(bell, error) bool) {
		t0 := time.Now()
		held := (*bell)(nil)
		for k := 1; k <= 30_000; k++ {
			event := bell{Tone: k % 7, Stamp: s.stamp(ctx, t0, asked.Rate, k)}
			times := 1
			if k%10_000 == 5_000 {
				switch s.fault {
				case "lost":
					continue
				case "doubled":
					times = 2
				case "reordered":
					held = &event
					continue
				case "corrupt":
					event.Tone++
				case "broken":
					yield(bell{}, wirelab.Errorf(wirelab.Internal, "out of rope"))
					return
				}
			}
			for range times {
				if !yield(event, nil) {
					return
				}
			}
			if held != nil {
				if !yield(*held, nil) {
					return
				}
				held = nil
			}
		}
	}
}

func (s tower) stamp(ctx context.Context, t0 time.Time, rate int64, k int) wirelab.Stamp {
	stamp := wirelab.Stamp{Sequence: uint64(k)}
	if rate == 0 {
		return stamp
	}
	due := t0.Add(time.Duration(k-1) * time.Second / time.Duration(rate))
	wait(ctx, time.Until(due))
	stamp.Due, stamp.Sent = due.UnixNano(), time.Now().UnixNano()
	switch s.fault {
	case "slips": // a ticker that counts from when it was late
		stamp.Due += int64(k) * int64(10*time.Microsecond)
		stamp.Sent += int64(time.Millisecond)
	case "unsent":
		stamp.Sent = 0
	case "milliseconds":
		stamp.Due /= 1e6
		stamp.Sent /= 1e6
	}
	return stamp
}

type ringer interface {
	Ring(ctx context.Context, asked ring) iter.Seq2[bell, error]
}

// judgeFeed runs the check of feeds over a stub with a fault.
func judgeFeed(fault string) []string {
	workload := wirelab.Workload[ringer]{
		Name: "tower", New: func() ringer { return tower{} },
		Operations: []wirelab.Operation[ringer]{
			wirelab.Feeding("Ring", func(*rand.Rand) ring { return ring{} }, ringer.Ring, func(rate int64) ring {
				return ring{rate}
			}),
		},
	}
	c := &cell[ringer]{
		workload: workload, binding: wirelab.Binding[ringer]{Protocol: wirelab.Protocol{Name: "none", Network: "tcp"}},
		server: wirelab.Server[ringer]{Serve: func(ctx context.Context, at wirelab.Endpoint, _ ringer) error {
			<-ctx.Done()
			return at.Close()
		}},
		client: wirelab.Dialer[ringer]{Dial: func(context.Context, wirelab.Dialing) (ringer, io.Closer, error) {
			return tower{fault}, io.NopCloser(nil), nil
		}},
		patience: 20 * time.Second,
	}
	found := &findings{}
	c.feeds(found)
	return found.list
}

// TestFeedFaultsAreNamed: one event in ten thousand that a wire loses, doubles,
// reorders or corrupts is found, and so are stamps that do not tell the time
// (grb-M01, M02; R2).
func TestFeedFaultsAreNamed(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"lost":         "events 5000 to 5000 of the feed are missing: event 5001 comes next",
		"doubled":      "event 5000 of the feed comes twice",
		"reordered":    "event 5000 of the feed comes after event 5001",
		"corrupt":      "event 5000 of the feed is wrong: reply event 5000",
		"broken":       "the feed broke after 4999 events",
		"slips":        "says to be due 10µs from when the rate has it",
		"unsent":       "sent at 0",
		"milliseconds": "from when the rate has it",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			if found := strings.Join(judgeFeed(fault), "\n"); !strings.Contains(found, want) {
				t.Errorf("found %q; want %q in it", found, want)
			}
		})
	}
	t.Run("sound", func(t *testing.T) {
		t.Parallel()
		if found := judgeFeed(""); len(found) > 0 {
			t.Errorf("found %q", found)
		}
	})
}
