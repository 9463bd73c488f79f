package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// backlog publishes a great many messages that nobody reads, and then has one
// subscriber read them all from the first on, while others are published at a pace.
func (b *bench) backlog(ctx context.Context, r rival, t topic, s setting, size int, seed uint64) (one outcome, err error) {
	from, ok := t.(replayer)
	if !ok {
		return one, errors.New("its topics cannot be read from the beginning")
	}
	var failed atomic.Int64
	p, err := t.Stream(ctx, s, func(err error) {
		if err != nil {
			failed.Add(1)
		}
	})
	if err != nil {
		return one, err
	}
	closing := sync.OnceFunc(p.Close)
	defer closing()
	payload := filled(max(size, 8), rand.New(rand.NewPCG(seed, 3)))
	filling, err := look(r)
	if err != nil {
		return one, err
	}
	for n := range b.scale.backlog {
		binary.LittleEndian.PutUint64(payload, uint64(n))
		if err := p.Publish(ctx, payload); err != nil {
			return one, fmt.Errorf("message %d: %w", n, err)
		}
	}
	took := time.Since(filling.at)
	one.Figures = append(one.Figures, figure{"publish", float64(b.scale.backlog) / took.Seconds(), "/s"})
	used, err := filling.since("publish", int64(b.scale.backlog))
	if err != nil {
		return one, err
	}
	one.Figures = append(one.Figures, used...)
	if c, ok := r.(interface{ Cool() error }); ok {
		if err := c.Cool(); err != nil {
			return one, err
		}
	}
	life, stop := context.WithCancel(ctx)
	var publishing sync.WaitGroup
	var more int
	var broke error
	publishing.Go(func() { more, broke = paced(life, p, b.scale.pace, b.scale.backlog, payload) })
	rate, used, left, err := b.drain(ctx, r, from)
	stop()
	publishing.Wait()
	closing()
	if err := errors.Join(err, broke); err != nil {
		return one, err
	}
	one.Rate, one.Missing, one.Doubled, one.Failed = rate, left.missing, left.doubled, failed.Load()
	one.Figures = append(append(one.Figures, figure{"read", rate, "/s"}, figure{"publish meanwhile", float64(more) / (float64(b.scale.backlog) / rate), "/s"}), used...)
	return one, nil
}

// paced publishes so many messages a second, numbered from first on, until ctx ends.
func paced(ctx context.Context, p publisher, perSecond, first int, payload []byte) (sent int, err error) {
	const step = 5 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return sent, nil
		case <-tick.C:
		}
		for due := int(time.Since(began).Seconds() * float64(perSecond)); sent < due; sent++ {
			binary.LittleEndian.PutUint64(payload, uint64(first+sent))
			if err := p.Publish(ctx, payload); err != nil {
				if ctx.Err() != nil {
					return sent, nil
				}
				return sent, err
			}
		}
	}
}

// tally counts messages of a backlog by the number that each begins with.
type tally struct {
	seen             []uint64 // a bit each
	missing, doubled int
	all              chan struct{} // closed when each has come
	came             atomic.Int64  // messages, for who watches
}

func newTally(count int) *tally {
	return &tally{seen: make([]uint64, (count+63)/64), missing: count, all: make(chan struct{})}
}

// got is for one goroutine. Messages behind the backlog are not counted.
func (t *tally) got(payload []byte, count int) {
	if len(payload) < 8 {
		return
	}
	n := binary.LittleEndian.Uint64(payload)
	if n >= uint64(count) {
		return
	}
	if t.seen[n/64]&(1<<(n%64)) != 0 {
		t.doubled++
		return
	}
	t.seen[n/64] |= 1 << (n % 64)
	t.came.Add(1)
	t.missing--
	if t.missing == 0 {
		close(t.all)
	}
}

// drain reads the backlog, until all of it came or nothing does any more.
func (b *bench) drain(ctx context.Context, r rival, from replayer) (rate float64, used []figure, left *tally, err error) {
	count := b.scale.backlog
	left = newTally(count)
	reading, err := look(r)
	if err != nil {
		return 0, nil, left, err
	}
	stop, err := from.Replay(ctx, func(payload []byte) { left.got(payload, count) })
	if err != nil {
		return 0, nil, left, err
	}
	again := time.NewTicker(patience)
	defer again.Stop()
	took := time.Duration(0)
	for before := int64(-1); took == 0 && err == nil; {
		select {
		case <-left.all:
			took = time.Since(reading.at)
		case <-ctx.Done():
			err = ctx.Err()
		case <-again.C:
			came := left.came.Load()
			if came == before {
				took = time.Since(reading.at)
			}
			before = came
		}
	}
	if err == nil {
		used, err = reading.since("read", int64(count))
	}
	stop()
	return float64(count-left.missing) / took.Seconds(), used, left, err
}
