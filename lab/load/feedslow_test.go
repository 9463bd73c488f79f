package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// buffered is a stream whose wire buffers up to room events; then the source waits. If drop is set, the source drops an
// event instead of waiting.
func buffered(rate int64, room int, drop bool) Feed {
	return func(ctx context.Context, each func(Stamp, error) bool) error {
		ctx, cancel := context.WithCancel(ctx)
		wire, over := make(chan Stamp, room), make(chan struct{})
		defer func() { cancel(); <-over }()
		go func() {
			defer close(over)
			defer close(wire)
			t0 := time.Now()
			for k := uint64(1); ; k++ {
				due := t0.Add(time.Duration(k-1) * time.Second / time.Duration(rate))
				if sleep(ctx, time.Until(due)) != nil {
					return
				}
				stamp := Stamp{Sequence: k, Due: due.UnixNano(), Sent: time.Now().UnixNano()}
				select {
				case wire <- stamp:
					continue
				default:
				}
				if drop {
					continue
				}
				select {
				case wire <- stamp:
				case <-ctx.Done():
					return
				}
			}
		}()
		for stamp := range wire {
			if !each(stamp, nil) {
				return nil
			}
		}
		return ctx.Err()
	}
}

// TestSlowReader: for a reader at half the rate, the recording shows how many events the wire buffers, how many the
// source held back, and how many it dropped.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                      string
		room                      int
		drop                      bool
		buffered, pushed, dropped int64
	}{
		{"deep buffer", 10_000, false, 500, 0, 0},
		{"shallow buffer", 100, false, 101, 399, 0},
		{"drops", 100, true, 100, 0, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rec, err := readFeeds(t, FeedPlan{Rate: 1000, Duration: time.Second, Head: 100 * ms, Share: 0.5},
					buffered(1000, c.room, c.drop))
				if err != nil {
					t.Fatal(err)
				}
				s := rec.Streams
				near := func(got, want int64) bool { return got >= want-3 && got <= want+3 }
				held, pushed := int64(s.Sent)-int64(s.Decoded)-int64(s.Dropped), int64(s.Due)-int64(s.Sent)
				if !near(int64(s.Due), 1000) || !near(int64(s.Decoded), 500) ||
					!near(held, c.buffered) || !near(pushed, c.pushed) || !near(int64(s.Dropped), c.dropped) {
					t.Errorf("due %d, sent %d, decoded %d, dropped %d: %d held, %d pushed back; want %d, %d, %d "+
						"dropped",
						s.Due, s.Sent, s.Decoded, s.Dropped, held, pushed, c.buffered, c.pushed, c.dropped)
				}
			})
		})
	}
}
