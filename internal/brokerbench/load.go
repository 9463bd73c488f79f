package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/lab/load"
)

// outcome is one measurement of one rival. Times are in seconds.
type outcome struct {
	Rate   float64 `json:"rate"`          // messages acknowledged in the window, per second
	P50    float64 `json:"p50,omitempty"` // of a caller's wait, or from due to delivered
	P99    float64 `json:"p99,omitempty"`
	Failed int64   `json:"failed,omitempty"`
	// Missing and Doubled are of end to end: messages that were acknowledged.
	Missing int `json:"missing,omitempty"`
	Doubled int `json:"doubled,omitempty"`
	// Figures are what else a shape measures.
	Figures []figure `json:"figures,omitempty"`
	// Cost is the CPU of the window by message that was acknowledged in it.
	Cost cost `json:"cpu"`
}

// window is when is measured.
type window struct{ warm, length time.Duration }

// filled is a payload of a size that no two calls give alike.
func filled(size int, r *rand.Rand) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// pipelined keeps a stream full and counts what is acknowledged in the window.
func pipelined(ctx context.Context, t topic, s setting, size int, w window, m meter, seed uint64) (one outcome, err error) {
	var done, failed atomic.Int64
	p, err := t.Stream(ctx, s, func(err error) {
		if err != nil {
			failed.Add(1)
			return
		}
		done.Add(1)
	})
	if err != nil {
		return one, err
	}
	life, stop := context.WithTimeout(ctx, w.warm+w.length)
	defer stop()
	var publishing sync.WaitGroup
	var broke error
	publishing.Go(func() {
		payload := filled(size, rand.New(rand.NewPCG(seed, 1)))
		for n := uint64(0); life.Err() == nil; n++ {
			if size >= 8 {
				binary.LittleEndian.PutUint64(payload, n)
			}
			if err := p.Publish(life, payload); err != nil && life.Err() == nil {
				broke = err
				stop()
				return
			}
		}
	})
	one.Rate, one.Cost = rate(life, w.warm, &done, m)
	publishing.Wait()
	p.Close()
	one.Failed = failed.Load()
	return one, broke
}

// rate is how much a counter grows per second from after a while until ctx ends, and
// what that costs.
func rate(ctx context.Context, after time.Duration, counter *atomic.Int64, m meter) (float64, cost) {
	warm := time.NewTimer(after)
	defer warm.Stop()
	select {
	case <-warm.C:
	case <-ctx.Done():
		return 0, cost{}
	}
	from, began, used := counter.Load(), time.Now(), m.read()
	<-ctx.Done()
	grown, took := counter.Load()-from, time.Since(began)
	return float64(grown) / took.Seconds(), m.read().since(used, grown)
}

// callers lets so many callers publish, each waiting for its acknowledgement.
func callers(ctx context.Context, t topic, n, size int, w window, m meter, seed uint64) (one outcome, err error) {
	all, err := t.Callers(ctx, n)
	if err != nil {
		return one, err
	}
	defer func() {
		for _, p := range all {
			p.Close()
		}
	}()
	var done, failed atomic.Int64
	life, stop := context.WithTimeout(ctx, w.warm+w.length)
	defer stop()
	measured := time.Now().Add(w.warm)
	waits := make([][]time.Duration, n)
	var running sync.WaitGroup
	for i, p := range all {
		running.Go(func() {
			payload := filled(size, rand.New(rand.NewPCG(seed, uint64(i))))
			for life.Err() == nil {
				began := time.Now()
				// A call that is under way at the end is let end, so that none is cut.
				if err := p.Publish(ctx, payload); err != nil {
					failed.Add(1)
					continue
				}
				done.Add(1)
				if began.After(measured) {
					waits[i] = append(waits[i], time.Since(began))
				}
			}
		})
	}
	one.Rate, one.Cost = rate(life, w.warm, &done, m)
	running.Wait()
	one.P50, one.P99 = quantiles(slices.Concat(waits...))
	one.Failed = failed.Load()
	return one, nil
}

// arrivals are when messages of a number came, since a moment of this process's clock.
type arrivals struct {
	base  time.Time
	came  []atomic.Int64 // ns since base
	times []atomic.Int32
	left  atomic.Int64
	all   chan struct{} // closed when each has come
}

func newArrivals(count int) *arrivals {
	a := &arrivals{base: time.Now(), came: make([]atomic.Int64, count), times: make([]atomic.Int32, count), all: make(chan struct{})}
	a.left.Store(int64(count))
	return a
}

// got notes a message by the number that its payload begins with.
func (a *arrivals) got(payload []byte) {
	if len(payload) < 8 {
		return
	}
	n := binary.LittleEndian.Uint64(payload)
	if n >= uint64(len(a.came)) || a.times[n].Add(1) > 1 {
		return
	}
	a.came[n].Store(int64(time.Since(a.base)))
	if a.left.Add(-1) == 0 {
		close(a.all)
	}
}

// account tells what is missing or came twice, and how long those that were due
// after a while took from then. began is when the first was due.
func (a *arrivals) account(began time.Time, between, after time.Duration) (one outcome) {
	var waits []time.Duration
	for n := range a.came {
		switch seen := a.times[n].Load(); {
		case seen == 0:
			one.Missing++
			continue
		case seen > 1:
			one.Doubled++
		}
		if due := time.Duration(n) * between; due >= after {
			waits = append(waits, time.Duration(a.came[n].Load())-due-began.Sub(a.base))
		}
	}
	one.P50, one.P99 = quantiles(waits)
	return one
}

// endToEnd publishes so many messages a second by the clock and measures from when
// each was due until a subscriber has it.
func endToEnd(ctx context.Context, t topic, s setting, perSecond, size int, w window, seed uint64) (one outcome, err error) {
	between := time.Second / time.Duration(perSecond)
	count := int((w.warm + w.length).Seconds() * float64(perSecond))
	a := newArrivals(count)
	stop, err := t.Deliver(ctx, a.got)
	if err != nil {
		return one, err
	}
	defer stop()
	var failed atomic.Int64
	p, err := t.Stream(ctx, s, func(err error) {
		if err != nil {
			failed.Add(1)
		}
	})
	if err != nil {
		return one, err
	}
	began := time.Now().Add(100 * time.Millisecond)
	err = onTime(ctx, p, began, between, count, filled(max(size, 8), rand.New(rand.NewPCG(seed, 2))))
	if err == nil {
		late := time.NewTimer(patience)
		select {
		case <-a.all:
		case <-late.C:
		}
		late.Stop()
	}
	p.Close()
	one = a.account(began, between, w.warm)
	one.Rate, one.Failed = float64(perSecond), failed.Load()
	return one, err
}

// onTime publishes messages at fixed moments, whatever became of those before. It goes by
// the engine's clock: Go's own timers are up to a millisecond late in an idle process, which
// would be half of what is measured.
func onTime(ctx context.Context, p publisher, began time.Time, between time.Duration, count int, payload []byte) error {
	var clock load.SystemClock
	first := clock.Now() + int64(time.Until(began))
	for n := range count {
		clock.SleepUntil(ctx, first+int64(n)*int64(between))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		binary.LittleEndian.PutUint64(payload, uint64(n))
		if err := p.Publish(ctx, payload); err != nil {
			return fmt.Errorf("message %d: %w", n, err)
		}
	}
	return nil
}

// quantiles are the median and the 99th percentile, in seconds.
func quantiles(all []time.Duration) (p50, p99 float64) {
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	at := func(q float64) float64 { return all[min(len(all)-1, int(q*float64(len(all))))].Seconds() }
	return at(0.5), at(0.99)
}
