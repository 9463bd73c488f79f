package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
)

// tape is a log that takes its time: a database as a stream sees it.
type tape struct {
	log  []ledger.Entry
	took time.Duration // of a read
	fail int           // this read fails, from 1; 0: none does
	bell ledger.Bell

	mu    sync.Mutex // guards below
	reads int
	sizes []int
}

func newTape(t *testing.T, n int) *tape {
	t.Helper()
	s := setOf(t, fmt.Sprintf("100x%d", n))
	return &tape{log: slices.Collect(s.Transactions())}
}

var errTape = &wirelab.Error{Code: wirelab.Unavailable, Message: "the tape broke"}

func (p *tape) Start(context.Context, string, time.Time) (int64, error) {
	return 0, errors.New("no test asks where to start")
}

func (p *tape) Read(_ context.Context, behind int64, _ string, limit int) ([]ledger.Entry, error) {
	p.mu.Lock()
	p.reads++
	p.sizes = append(p.sizes, limit)
	fails := p.reads == p.fail
	page := p.log[min(int(behind), len(p.log)):]
	page = page[:min(limit, len(page))]
	p.mu.Unlock()
	time.Sleep(p.took) // of a bubble: no time passes
	if fails {
		return nil, errTape
	}
	return slices.Clone(page), nil
}

func (p *tape) Wait(ctx context.Context, head int64) (int64, error) { return p.bell.Wait(ctx, head) }

// post adds to the log.
func (p *tape) post(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range n {
		e := p.log[0]
		e.Position = int64(len(p.log)) + 1
		e.Transaction.Timestamp = time.Now()
		p.log = append(p.log, e)
	}
	p.bell.Ring(int64(len(p.log)))
}

func (p *tape) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads
}

// seen is an event, with times from the stream's beginning.
type seen struct {
	due, sent, read time.Duration
}

// watch reads a stream to its end; each is called for every event, and may
// take its time or say that enough was read.
//
//nolint:revive // t first, as helpers have it
func watch(t *testing.T, ctx context.Context, feed ledger.Feed, source ledger.Source,
	each func(n int) bool,
) ([]seen, error) {
	t.Helper()
	begin := time.Now()
	var all []seen
	for e, err := range ledger.Stream(ctx, feed, source) {
		if err != nil {
			return all, err
		}
		s := seen{time.Duration(e.Due - begin.UnixNano()), time.Duration(e.Sent - begin.UnixNano()), time.Since(begin)}
		all = append(all, s)
		if e.Sequence != uint64(len(all)) || s.sent < s.due || s.read < s.sent {
			t.Errorf("event %d: %+v of %+v", len(all), s, e.Stamp)
		}
		if each != nil && !each(len(all)) {
			return all, nil
		}
	}
	return all, nil
}

// A reader that keeps up gets every event when it is due, to the nanosecond:
// neither the clock's grain nor the database adds up (R14, grb-M02).
func TestScheduleIsAbsolute(t *testing.T) {
	t.Parallel()
	for _, rate := range []int64{1, 3, 7, 999, 1000, 4096, ledger.RateLimit} {
		synctest.Test(t, func(t *testing.T) {
			p := newTape(t, 2000)
			all, err := watch(t, t.Context(), ledger.Feed{Rate: rate}, p, nil)
			if err != nil || len(all) != 2000 {
				t.Fatalf("rate %d: %d events, %v", rate, len(all), err)
			}
			for n, s := range all {
				if want := time.Duration(n) * time.Second / time.Duration(rate); s != (seen{want, want, want}) {
					t.Fatalf("rate %d: event %d is %+v, want all at %v", rate, n+1, s, want)
				}
			}
		})
	}
}

// TestPagesAreReadAhead checks that a slow read of a page delays nothing as long as it takes less time than sending
// the events already read.
func TestPagesAreReadAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTape(t, 2000)
		p.took = ledger.ReadAhead / 2 * time.Millisecond // half a page at the rate below
		all, err := watch(t, t.Context(), ledger.Feed{Rate: 1000}, p, nil)
		if err != nil || len(all) != 2000 {
			t.Fatalf("%d events, %v", len(all), err)
		}
		for n, s := range all { // the schedule begins with the first event at hand
			if want := p.took + time.Duration(n)*time.Millisecond; s.sent != want || s.due != want {
				t.Fatalf("event %d is due at %v and sent at %v, want %v", n+1, s.due, s.sent, want)
			}
		}
	})
}

// A reader that stops for a while gets all that it is owed at once, due when it
// was due, and from there on each in its time: the origin's ticker leaves out
// what it is late for (grb-M02).
func TestLateEventsCatchUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pause = 700 * time.Millisecond
		all, err := watch(t, t.Context(), ledger.Feed{Rate: 1000}, newTape(t, 2000), func(n int) bool {
			if n == 500 {
				time.Sleep(pause)
			}
			return true
		})
		if err != nil || len(all) != 2000 {
			t.Fatalf("%d events, %v", len(all), err)
		}
		late := 0
		for n, s := range all {
			due := time.Duration(n) * time.Millisecond
			sent := due
			if n >= 500 { // the reader is back 499 ms + pause after the first
				sent = max(due, 499*time.Millisecond+pause)
			}
			if s.due != due || s.sent != sent {
				t.Fatalf("event %d is due at %v and sent at %v, want %v and %v", n+1, s.due, s.sent, due, sent)
			}
			if sent > due {
				late++
			}
		}
		if late != 699 {
			t.Errorf("%d events were late, want 699", late)
		}
	})
}

// TestSlowReaderIsWaitedFor checks that a reader at half the rate gets everything in twice the time, and holds back
// the stream: reading ahead is bounded.
func TestSlowReaderIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, rate := range []int64{0, 1000} {
		synctest.Test(t, func(t *testing.T) {
			p := newTape(t, 2000)
			all, err := watch(t, t.Context(), ledger.Feed{Rate: rate}, p, func(n int) bool {
				time.Sleep(2 * time.Millisecond)
				if most := n/ledger.ReadAhead + 2; p.count() > most {
					t.Errorf("after %d events %d pages are read, want at most %d", n, p.count(), most)
				}
				return true
			})
			if last := all[len(all)-1].read; err != nil || len(all) != 2000 || last != 1999*2*time.Millisecond {
				t.Errorf("rate %d: %d events, the last after %v, %v", rate, len(all), last, err)
			}
		})
	}
}

// A reader that stops reading stops the stream, and no goroutine is left: a
// bubble does not end before its goroutines have.
func TestReaderThatLeaves(t *testing.T) {
	t.Parallel()
	for _, feed := range []ledger.Feed{{}, {Rate: 1000}, {Follow: true}} {
		for _, leave := range []int{
			1, ledger.ReadAhead/2 - 1, ledger.ReadAhead / 2, ledger.ReadAhead/2 + 1, ledger.ReadAhead, 600,
		} {
			synctest.Test(t, func(t *testing.T) {
				p := newTape(t, 1000)
				p.took = 20 * time.Millisecond
				all, err := watch(t, t.Context(), feed, p, func(n int) bool { return n < leave })
				if err != nil || len(all) != leave {
					t.Errorf("%+v: %d events, want %d; %v", feed, len(all), leave, err)
				}
				if most := leave/ledger.ReadAhead + 2; p.count() > most {
					t.Errorf("%+v: for %d events %d pages were read", feed, leave, p.count())
				}
			})
		}
	}
}

// TestFollowerGoesOnFromNow checks that a follower gets a posting at once unless it is before its turn, and that
// waiting for a posting is not lateness, so there is nothing to catch up with.
func TestFollowerGoesOnFromNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTape(t, 3)
		p.bell.Ring(3)
		go func() {
			time.Sleep(10 * time.Second)
			p.post(3)
			time.Sleep(50 * time.Millisecond)
			p.post(1)
			time.Sleep(time.Hour)
			p.post(2)
		}()
		all, err := watch(t, t.Context(), ledger.Feed{Rate: 10, Follow: true, Limit: 9}, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		const s, ms = time.Second, time.Millisecond
		for n, want := range []time.Duration{
			0, 100 * ms, 200 * ms, // the log
			10 * s, 10*s + 100*ms, 10*s + 200*ms, // posted together after ten seconds
			10*s + 300*ms,                                       // was there before its turn
			10*s + 50*ms + time.Hour, 10*s + 150*ms + time.Hour, // and from now again
		} {
			if all[n].due != want || all[n].sent != want {
				t.Errorf("event %d is due at %v and sent at %v, want %v", n+1, all[n].due, all[n].sent, want)
			}
		}
	})
}

// TestFollowerThatIsLateCatchesUp checks that a follower that cannot keep up with the postings has a schedule to
// catch up with, at the end of each page too.
func TestFollowerThatIsLateCatchesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTape(t, 1)
		ctx, stop := context.WithCancel(t.Context())
		var posting sync.WaitGroup
		posting.Go(func() { // little faster than the stream, so that its pages are never full
			for ctx.Err() == nil {
				p.post(11)
				time.Sleep(10 * time.Millisecond)
			}
		})
		all, err := watch(t, t.Context(), ledger.Feed{Rate: 1000, Follow: true, Limit: 2000}, p, func(n int) bool {
			if n%100 == 0 {
				time.Sleep(30 * time.Millisecond)
			}
			return true
		})
		stop()
		posting.Wait()
		if err != nil || len(all) != 2000 {
			t.Fatalf("%d events, %v", len(all), err)
		}
		for n, s := range all {
			if want := time.Duration(n) * time.Millisecond; s.due != want {
				t.Fatalf("event %d is due at %v, want %v", n+1, s.due, want)
			}
		}
	})
}

// A stream that waits ends with its context, wherever it waits.
func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		feed ledger.Feed
		want int
	}{
		"for the next to be due":       {ledger.Feed{Rate: 1}, 6}, // at 0 s to 5 s
		"for the log to grow":          {ledger.Feed{Follow: true}, 100},
		"for the log to grow, at rate": {ledger.Feed{Follow: true, Rate: 1000}, 100},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newTape(t, 100)
			p.bell.Ring(100)
			begin := time.Now()
			late, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
			defer cancel()
			all, err := watch(t, late, c.feed, p, nil)
			if len(all) != c.want || err == nil || wirelab.CodeOf(err) != wirelab.DeadlineExceeded ||
				time.Since(begin) != 5500*time.Millisecond {
				t.Errorf("%s: %d events, %v after %v", why, len(all), err, time.Since(begin))
			}
			over, cancel := context.WithCancel(t.Context())
			all, err = watch(t, over, c.feed, p, func(n int) bool {
				if n == 3 {
					cancel()
				}
				return true
			})
			if len(all) != 3 || err == nil || wirelab.CodeOf(err) != wirelab.Canceled {
				t.Errorf("%s: %d events, %v", why, len(all), err)
			}
		})
	}
}

// What was read before a read fails is sent, and then the failure.
func TestReadThatFails(t *testing.T) {
	t.Parallel()
	for fail := 1; fail <= 4; fail++ {
		synctest.Test(t, func(t *testing.T) {
			p := newTape(t, 2000)
			p.fail = fail
			all, err := watch(t, t.Context(), ledger.Feed{}, p, nil)
			if !errors.Is(err, errTape) || len(all) != (fail-1)*ledger.ReadAhead {
				t.Errorf("read %d fails: %d events, %v", fail, len(all), err)
			}
		})
	}
}

// TestLimitIsNotReadBeyond checks that a stream with a limit reads no more than that.
func TestLimitIsNotReadBeyond(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]string{
		1: "[1]", 50: "[50]", 256: "[256]", 257: "[256 1]",
		700: "[256 256 188]",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newTape(t, 1000)
			all, err := watch(t, t.Context(), ledger.Feed{Limit: limit}, p, nil)
			if err != nil || len(all) != int(limit) || fmt.Sprint(p.sizes) != want {
				t.Errorf("limit %d: %d events from pages of %v, want %s; %v", limit, len(all), p.sizes, want, err)
			}
		})
	}
}

// early is a log whose Start was asked before anything since then was there:
// the first transactions that come are too early.
type early struct {
	*tape
	since time.Time
}

func (e early) Start(context.Context, string, time.Time) (int64, error) { return 0, nil }

func TestWhatComesTooEarlyIsLeftOut(t *testing.T) {
	t.Parallel()
	p := newTape(t, 1000)
	since := p.log[600].Transaction.Timestamp
	if p.log[599].Transaction.Timestamp.Equal(since) {
		t.Fatal("choose another time")
	}
	source := early{p, since}
	n := 0
	for e, err := range ledger.Stream(t.Context(), ledger.Feed{Since: since, Limit: 399}, source) {
		if want := p.log[600+n].Transaction; err != nil || !e.Transaction.Same(want) || e.Sequence != uint64(n)+1 {
			t.Fatalf("event %d is %+v, %v; want %+v", n+1, e, err, want)
		}
		n++
	}
	if n != 399 {
		t.Errorf("%d events, want 399", n)
	}
	list, err := ledger.List(t.Context(), ledger.Page{Since: since, Limit: 399}, source)
	if err != nil || len(list.Transactions) != 399 || list.Transactions[0].ID != p.log[600].Transaction.ID ||
		list.Next != p.log[998].Transaction.ID {
		t.Errorf("%d transactions, next %q, %v", len(list.Transactions), list.Next, err)
	}
	list, err = ledger.List(t.Context(), ledger.Page{Since: since}, source)
	if err != nil || len(list.Transactions) != 400 || list.Next != "" {
		t.Errorf("%d transactions, next %q, %v", len(list.Transactions), list.Next, err)
	}
}

// The schedule is right however long a stream lasts: years at the highest rate.
func TestScheduleDoesNotOverflow(t *testing.T) {
	t.Parallel()
	for _, rate := range []int64{1, 3, 1000, 999_983, ledger.RateLimit} {
		for _, n := range []int64{0, 1, rate - 1, rate, rate + 1, 9_223_372_037, 1 << 40, rate * 250 * 365 * 86400} {
			want := new(big.Int).Mul(big.NewInt(n), big.NewInt(1e9))
			want.Div(want, big.NewInt(rate))
			if want.Cmp(big.NewInt(math.MaxInt64)) > 0 {
				continue
			}
			if got := ledger.After(n, rate); got.Nanoseconds() != want.Int64() {
				t.Errorf("event %d at %d per second is due after %d ns, want %v", n+1, rate, got.Nanoseconds(), want)
			}
		}
	}
}

// TestBell checks that a ring for a lower position wakes no waiter: each waits until the position it needs is rung.
func TestBell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b ledger.Bell
		var wg sync.WaitGroup
		for head := range int64(5) {
			for range 3 {
				wg.Go(func() {
					got, err := b.Wait(t.Context(), head)
					if err != nil || got <= head {
						t.Errorf("waiting for more than %d brought %d, %v", head, got, err)
					}
				})
			}
		}
		for _, head := range []int64{2, 1, 0, 4, 3, 4, 5} {
			synctest.Wait()
			b.Ring(head)
		}
		wg.Wait()
		b.Ring(3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := b.Wait(ctx, 4); got != 5 || err != nil {
			t.Errorf("after a ring for less, what it was rung for before is %d, %v", got, err)
		}
		if got, err := b.Wait(ctx, 5); got != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a ring it returned %d, %v", got, err)
		}
	})
}
