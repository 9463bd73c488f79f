package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wirelab/lab/stat"
)

// feedSource is a stream in virtual time: event k is sent lag after it was due and arrives way later.
type feedSource struct {
	rate     int64
	lag, way time.Duration
	n        uint64                       // number of events; 0: no end
	at       func(k uint64) []uint64      // the numbers that arrive in place of event k; nil: k
	wrong    func(k uint64) bool          // whether event k is wrong
	stall    func(k uint64) time.Duration // before event k is sent
	slip     func(k uint64) time.Duration // what it adds to the due time of event k
	broken   func(k uint64) error         // the error with which it breaks at event k
}

var errContent = errors.New("wrong content")

func (s feedSource) open(ctx context.Context, each func(Stamp, error) bool) error {
	t0 := time.Now()
	until := func(at time.Time) error {
		if d := time.Until(at); d > 0 {
			return sleep(ctx, d)
		}
		return ctx.Err()
	}
	for k := uint64(1); s.n == 0 || k <= s.n; k++ {
		if s.broken != nil {
			if err := s.broken(k); err != nil {
				return err
			}
		}
		if s.stall != nil {
			if err := sleep(ctx, s.stall(k)); err != nil {
				return err
			}
		}
		due := t0.Add(time.Duration(k-1) * time.Second / time.Duration(s.rate))
		if err := until(due.Add(s.lag)); err != nil {
			return err
		}
		sent := time.Now()
		if err := until(sent.Add(s.way)); err != nil {
			return err
		}
		numbers := []uint64{k}
		if s.at != nil {
			numbers = s.at(k)
		}
		for _, n := range numbers {
			stamp := Stamp{Sequence: n, Due: due.UnixNano(), Sent: sent.UnixNano()}
			if n <= k+1 { // a reordered event carries its own due time
				stamp.Due += (int64(n) - int64(k)) * int64(time.Second) / s.rate
			}
			if s.slip != nil {
				stamp.Due += int64(s.slip(k))
			}
			var wrong error
			if s.wrong != nil && s.wrong(n) {
				wrong = errContent
			}
			if !each(stamp, wrong) {
				return nil
			}
		}
	}
	return nil
}

// readFeeds runs a plan over feeds in virtual time, and checks that its counts add up.
func readFeeds(t *testing.T, p FeedPlan, feeds ...Feed) (*FeedRecording, error) {
	t.Helper()
	rec, err := NewFeedRunner(feeds).Run(t.Context(), p)
	if err != nil {
		return nil, err
	}
	failed := rec.Failures()
	if rec.Sent != rec.OK+failed || rec.Response.Count() != rec.OK || rec.Service.Count() != rec.OK ||
		rec.Lag.Count() != rec.OK {
		t.Errorf("accounts: sent %d, right %d, failed %v; %d, %d and %d times",
			rec.Sent, rec.OK, rec.Errors, rec.Response.Count(), rec.Service.Count(), rec.Lag.Count())
	}
	var one Reader
	for _, r := range rec.Streams.Readers {
		one.Planned += r.Planned
		one.Right += r.Right
		one.Missing += r.Missing
		one.Completed += r.Completed
		if r.Delivery.Count() != r.Right {
			t.Errorf("a stream has %d times of %d events", r.Delivery.Count(), r.Right)
		}
	}
	if one.Planned != rec.Planned || one.Right != rec.OK || one.Missing != rec.Streams.Missing ||
		one.Completed != rec.CompletedInWindow {
		t.Errorf("streams add up to %+v, in all there are %d planned, %d right", one, rec.Planned, rec.OK)
	}
	if p.Share == 0 && rec.Planned != rec.Sent {
		t.Errorf("%d events were due, %d are accounted for", rec.Planned, rec.Sent)
	}
	return rec, nil
}

func same(n int, s feedSource) []Feed {
	all := make([]Feed, n)
	for i := range all {
		all[i] = s.open
	}
	return all
}

func allAt(h *stat.Histogram, want time.Duration) bool {
	return h.Count() > 0 && time.Duration(h.Min()).Round(time.Millisecond) == want &&
		time.Duration(h.Max()).Round(time.Millisecond) == want
}

// TestFeedsInTime: delivery counts from when an event was due and is divided at the time when it was sent. The expected
// number of events is that of the schedule, per stream and in all (grb-M01, M03; R1, R16).
func TestFeedsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec, err := readFeeds(t, FeedPlan{Rate: 100, Duration: 2 * time.Second, Head: 200 * ms},
			same(3, feedSource{rate: 100, lag: 3 * ms, way: 4 * ms})...)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Planned != 540 || rec.OK != 540 || rec.Expected != 540 || rec.Window != 1800*ms || rec.Workers != 3 {
			t.Errorf("%d planned, %d right, %.0f expected in %v of %d streams", rec.Planned, rec.OK, rec.Expected,
				rec.Window, rec.Workers)
		}
		if !allAt(rec.Response, 7*ms) || !allAt(rec.Lag, 3*ms) || !allAt(rec.Service, 4*ms) ||
			rec.Streams.Jitter.Max() > 1 {
			t.Errorf("delivery %v, lag %v, way %v, jitter %v", rec.Response.Max(), rec.Lag.Max(), rec.Service.Max(),
				rec.Streams.Jitter.Max())
		}
		if x := rec.Throughput(); x != 300 {
			t.Errorf("%v events/s in all, want 300", x)
		}
		if len(rec.Streams.Readers) != 3 || rec.Streams.Readers[2].Right != 180 ||
			rec.Streams.Readers[2].Delivery.Count() != 180 {
			t.Errorf("%+v", rec.Streams.Readers)
		}
	})
}

// every reports whether k is the one in n events that is chosen.
func every(n uint64) func(k uint64) bool { return func(k uint64) bool { return k%n == n/2 } }

// TestFeedFaultsAreCounted: if one event in a hundred is lost, doubled, reordered or wrong, it is found and counted as
// such (R2, grb-M02).
func TestFeedFaultsAreCounted(t *testing.T) {
	t.Parallel()
	one := every(100)
	for _, c := range []struct {
		name                                   string
		source                                 feedSource
		missing, doubled, turned, wrong, stray uint64
		slipped                                uint64
	}{
		{name: "sound"},
		{name: "lost", source: feedSource{at: func(k uint64) []uint64 {
			if one(k) {
				return nil
			}
			return []uint64{k}
		}}, missing: 10},
		{name: "doubled", source: feedSource{at: func(k uint64) []uint64 {
			if one(k) {
				return []uint64{k, k}
			}
			return []uint64{k}
		}}, doubled: 10},
		{name: "turned round", source: feedSource{at: func(k uint64) []uint64 {
			switch {
			case one(k):
				return []uint64{k + 1}
			case one(k - 1):
				return []uint64{k - 1}
			}
			return []uint64{k}
		}}, turned: 10},
		{name: "wrong", source: feedSource{wrong: one}, wrong: 10},
		{name: "wrong number", source: feedSource{at: func(k uint64) []uint64 {
			if one(k) {
				return []uint64{1 << 40}
			}
			return []uint64{k}
		}}, missing: 10, stray: 10},
		{name: "numberless", source: feedSource{at: func(k uint64) []uint64 {
			if one(k) {
				return []uint64{k, 0}
			}
			return []uint64{k}
		}}, stray: 10},
		// A ticker that drops late ticks, and numbers the rest without gaps, like the original program. Events are
		// missing all the same.
		{
			name:    "ticks dropped",
			source:  feedSource{slip: func(k uint64) time.Duration { return time.Duration(k) * ms }},
			slipped: 1000,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c.source.rate, c.source.way = 1000, ms/2
				rec, err := readFeeds(t,
					FeedPlan{Rate: 1000, Duration: 1100 * ms, Head: 100 * ms, Wrong: "wrong_reply"}, c.source.open)
				if err != nil {
					t.Fatal(err)
				}
				s := rec.Streams
				got := []uint64{s.Missing, s.Duplicated, s.Reordered, rec.Errors["wrong_reply"], s.Stray, s.Slipped}
				want := []uint64{c.missing, c.doubled, c.turned, c.wrong, c.stray, c.slipped}
				for i := range got {
					// the strays before and after the window count too
					if d := int64(got[i]) - int64(want[i]); d > 2 || d < -2 {
						t.Errorf("missing, doubled, turned, wrong, stray, slipped: %v; want %v", got, want)
						break
					}
				}
				if rec.Planned != 1000 || rec.OK != 1000-s.Missing-rec.Errors["wrong_reply"] ||
					rec.Errors[Missing] != s.Missing {
					t.Errorf("planned %d, right %d, failed %v", rec.Planned, rec.OK, rec.Errors)
				}
			})
		})
	}
}

// TestFeedLateTicks: a source that keeps its events and sends them late, with due times moved to match, is charged from
// when they were due by the rate that was asked for (R14, grb-M02).
func TestFeedLateTicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := feedSource{rate: 900} // its due times follow nine tenths of the rate
		rec, err := readFeeds(t, FeedPlan{Rate: 1000, Duration: 2 * time.Second}, slow.open)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Planned != 2000 || rec.CompletedInWindow != 1800 || rec.Streams.Slipped < 1990 {
			t.Errorf("%d planned, %d in time, %d slipped; want 2,000, 1,800 and nearly all", rec.Planned,
				rec.CompletedInWindow, rec.Streams.Slipped)
		}
		if late := time.Duration(rec.Response.Max()); late < 200*ms {
			t.Errorf("the last event was delivered %v after it was due, want 222 ms", late)
		}
	})
}

// TestFeedStall: events that a stall delays are late and not lost, and show as jitter once each way.
func TestFeedStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := feedSource{rate: 1000, stall: func(k uint64) time.Duration {
			if k == 500 {
				return 100 * ms
			}
			return 0
		}}
		rec, err := readFeeds(t, FeedPlan{Rate: 1000, Duration: time.Second}, source.open)
		if err != nil {
			t.Fatal(err)
		}
		if rec.OK != 1000 || rec.Streams.Missing != 0 || !within(rec.Response.Max(), 99*ms) ||
			!within(rec.Streams.Jitter.Max(), 99*ms) {
			t.Errorf("%d right, delivery up to %v, jitter up to %v", rec.OK, time.Duration(rec.Response.Max()),
				time.Duration(rec.Streams.Jitter.Max()))
		}
	})
}

func within(got int64, want time.Duration) bool {
	return time.Duration(got) > want-2*ms && time.Duration(got) < want+2*ms
}

// TestFeedTail: events that have not come when the drain is over are missing. If a stream breaks, they are counted
// under the cause.
func TestFeedTail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		source feedSource
		kind   string
		from   uint64 // the first missing event, a few more or less
	}{
		{"hangs", feedSource{stall: func(k uint64) time.Duration {
			if k == 902 {
				return time.Hour
			}
			return 0
		}}, Missing, 100},
		{"breaks", feedSource{broken: func(k uint64) error {
			if k == 902 {
				return errors.New("connection reset")
			}
			return nil
		}}, "error", 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c.source.rate = 1000
				rec, err := readFeeds(t, FeedPlan{Rate: 1000, Duration: time.Second, Drain: time.Second}, c.source.open)
				if err != nil {
					t.Fatal(err)
				}
				if n := rec.Errors[c.kind]; n != c.from || rec.Streams.Missing != c.from || rec.OK != 1000-c.from {
					t.Errorf("failed %v, %d missing, %d right; want %d %s", rec.Errors, rec.Streams.Missing, rec.OK,
						c.from, c.kind)
				}
			})
		})
	}
}

// TestFeedEndsEarly: a stream that ends before its slice is not a lower rate but an error that says what to do
// (grb-M17).
func TestFeedEndsEarly(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]uint64{"in the slice": 500, "at once": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				feeds := append(same(2, feedSource{rate: 1000}), feedSource{rate: 1000, n: n}.open)
				_, err := readFeeds(t, FeedPlan{Rate: 1000, Duration: time.Second}, feeds...)
				if !errors.Is(err, ErrFeedEnded) || !strings.Contains(err.Error(), "--data") {
					t.Errorf("%v; want an end that names --data", err)
				}
			})
		})
	}
	t.Run("with its last event of the slice", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			rec, err := readFeeds(t, FeedPlan{Rate: 1000, Duration: time.Second}, feedSource{rate: 1000, n: 1001}.open)
			if err != nil || rec.OK != 1000 {
				t.Errorf("%v", err)
			}
		})
	})
}

// TestFeedOpening: streams that deliver nothing, or a wrong event, at first are an error.
func TestFeedOpening(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		feed Feed
		want string
	}{
		"gives nothing": {
			func(ctx context.Context, _ func(Stamp, error) bool) error { return hangs(ctx) },
			"had given no event 3s",
		},
		"refuses": {func(context.Context, func(Stamp, error) bool) error { return refused }, "refused"},
		"wrong":   {feedSource{rate: 10, wrong: func(uint64) bool { return true }}.open, "wrong content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, err := readFeeds(t, FeedPlan{Rate: 10, Duration: time.Second, Opening: 3 * time.Second},
					feedSource{rate: 10}.open, c.feed)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v; want %q in it", err, c.want)
				}
			})
		})
	}
}

// TestFeedInterrupted: Run returns the cause of its context, and nothing keeps running.
func TestFeedInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*ms)
		defer cancel()
		_, err := NewFeedRunner(same(4, feedSource{rate: 100})).Run(ctx, FeedPlan{Rate: 100, Duration: time.Second})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// steppedClock is a clock whose wall time is set once.
type steppedClock struct {
	TimerClock
	at time.Time
	by time.Duration
}

func (c steppedClock) Offset() int64 {
	if time.Now().After(c.at) {
		return c.TimerClock.Offset() + int64(c.by)
	}
	return c.TimerClock.Offset()
}

// TestClockStepped: times of two processes cannot be compared across a step.
func TestClockStepped(t *testing.T) {
	t.Parallel()
	for by, bad := range map[time.Duration]bool{
		0: false, 50 * time.Microsecond: false, 200 * time.Microsecond: true,
		-ms: true,
	} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, err := readFeeds(t, FeedPlan{
					Rate: 100, Duration: time.Second,
					Clock: steppedClock{at: time.Now().Add(500 * ms), by: by},
				}, feedSource{rate: 100}.open)
				if errors.Is(err, ErrClockStepped) != bad {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestFeedsWarm: a warm-up runs windows until they are steady. If streams end, it fails.
func TestFeedsWarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runner := NewFeedRunner(same(2, feedSource{rate: 1000, way: ms / 4}))
		w, err := runner.Warm(t.Context(), Warming{}, FeedPlan{Rate: 1000, Duration: 20 * ms})
		if err != nil || !w.Steady || w.Windows != 20 {
			t.Errorf("%+v, %v", w, err)
		}
		short := NewFeedRunner(same(2, feedSource{rate: 1000, n: 3}))
		if _, err := short.Warm(t.Context(), Warming{}, FeedPlan{Rate: 1000, Duration: 20 * ms}); !errors.Is(err,
			ErrFeedEnded) {
			t.Errorf("%v", err)
		}
	})
}

func TestFeedPlansThatCannotBe(t *testing.T) {
	t.Parallel()
	feed := same(1, feedSource{rate: 10})
	for name, c := range map[string]struct {
		plan  FeedPlan
		feeds []Feed
	}{
		"no feed":  {FeedPlan{Rate: 1, Duration: time.Second}, nil},
		"no rate":  {FeedPlan{Duration: time.Second}, feed},
		"no time":  {FeedPlan{Rate: 1}, feed},
		"all head": {FeedPlan{Rate: 1, Duration: time.Second, Head: time.Second}, feed},
		"share":    {FeedPlan{Rate: 1, Duration: time.Second, Share: 1.5}, feed},
		"no drain": {FeedPlan{Rate: 1, Duration: time.Second, Drain: -1}, feed},
		"too many": {FeedPlan{Rate: 1, Duration: time.Second}, make([]Feed, feedsLimit+1)},
	} {
		if _, err := NewFeedRunner(c.feeds).Run(t.Context(), c.plan); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFeedEdge: an event of the window counts even if it comes after one that is due beyond the end of the window.
func TestFeedEdge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := feedSource{rate: 1000, at: func(k uint64) []uint64 {
			switch k {
			case 1001:
				return []uint64{1002}
			case 1002:
				return []uint64{1001}
			}
			return []uint64{k}
		}}
		rec, err := readFeeds(t, FeedPlan{Rate: 1000, Duration: time.Second}, source.open)
		if err != nil || rec.Streams.Missing != 0 || rec.Streams.Reordered != 1 {
			t.Errorf("%v, %+v", err, rec.Streams)
		}
	})
}

// TestFeedLong: sequence numbers are remembered for a limited number of events.
func TestFeedLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec, err := readFeeds(t, FeedPlan{Rate: 1000, Duration: 3 * seenEvents * ms},
			feedSource{rate: 1000, at: func(k uint64) []uint64 {
				switch k {
				case seenEvents + 10:
					return []uint64{k + 1}
				case seenEvents + 11:
					return []uint64{k - 1}
				}
				return []uint64{k}
			}}.open)
		if err != nil || rec.OK != 3*seenEvents || rec.Streams.Reordered != 1 ||
			rec.Streams.Duplicated+rec.Streams.Stray != 0 {
			t.Errorf("%v, %d right, %+v", err, rec.OK, rec.Streams)
		}
	})
}
