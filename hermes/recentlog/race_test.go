package recentlog

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"wirelab/hermes/broker"
)

// One writes and pushes while readers of every pace come and go: each gets every
// message of its stretch once, however often it falls behind and rejoins.
func TestReadersInParallel(t *testing.T) {
	t.Parallel()
	t.Run("few", func(t *testing.T) { readersInParallel(t, tellMost) })
	t.Run("many", func(t *testing.T) { readersInParallel(t, 0) })
}

func readersInParallel(t *testing.T, tellMost int) {
	t.Parallel()
	entries := 2000
	if testing.Short() {
		entries = 500
	}
	const topics, readers = 3, 24
	// The disk has everything from the beginning, so that it is not changed; Read is never asked for what was not
	// appended, and that is checked.
	d := &disk{topics: map[uint32]*stored{}}
	script := make([][]Run, entries)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range script {
		for range 1 + rng.IntN(4) {
			script[i] = append(script[i], d.add(rng.Uint32N(topics), int64(i), 1+rng.IntN(3), 1+rng.IntN(60)))
		}
	}
	recent := New(Options{Bytes: 3000, Read: d.read})
	recent.tellMost = tellMost
	defer recent.Close(nil)
	var next [topics]atomic.Uint64 // a topic that no reader has open is forgotten, and its end with it
	var wg sync.WaitGroup
	for i := range uint64(readers) {
		wg.Go(func() {
			if err := follow(t, recent, d, &next[i%topics], uint32(i%topics), i); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	wg.Go(func() {
		wake := make(chan struct{}, 1)
		for i := range entries {
			id := uint32(i % topics)
			recent.Push(id, int64(i), messages("pushed"), 1)
			stop := recent.Watch(id, wake)
			if _, err := recent.Fetch(nil, id, 0, 3, 100); err != nil {
				t.Error(err)
			}
			stop()
			recent.Usage()
		}
	})
	for i, runs := range script {
		for _, r := range runs {
			next[r.Topic].Store(r.Offset + uint64(r.Count))
		}
		recent.Append(int64(i), runs)
	}
	wg.Wait()
	if u := recent.Usage(); u.Readers != 0 || u.Behind == 0 {
		t.Fatalf("at the end %+v", u)
	}
}

// follow reads a topic to its end in stretches, each with its own reader.
func follow(t *testing.T, recent *Log, d *disk, next *atomic.Uint64, topic uint32, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := d.topic(topic)
	var at uint64
	for at < s.next {
		live := rng.IntN(2) == 0
		r, err := recent.Open(topic, at, next.Load(), live)
		if err != nil {
			return err
		}
		f := &follower{Reader: r, topic: topic, want: at}
		end := min(s.next, at+1+rng.Uint64N(s.next))
		for f.want < end {
			limit := 1 + rng.IntN(500)
			b, err := r.Next(t.Context(), broker.Room{Bytes: limit})
			if err != nil {
				return err
			}
			if b.Attempt == 0 {
				if !live {
					return fmt.Errorf("a pushed batch came to a reader that did not ask")
				}
				continue
			}
			if err := f.check(s, b, limit); err != nil {
				return err
			}
			if rng.IntN(20) == 0 {
				r.Offset()
				recent.Readers(topic)
			}
		}
		r.Close()
		at = f.want
	}
	return nil
}

// who waits among thousands is notified, however many come and go while they are notified.
func TestManyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rounds = 20
		rng := rand.New(rand.NewPCG(3, 3))
		recent := New(Options{})
		var got atomic.Int64
		readers := map[*Reader]bool{}
		come := func(offset uint64, n int) {
			for range n {
				r := open(t, recent, 1, offset, 0, false)
				readers[r] = true
				go func() {
					for {
						if _, err := r.Next(t.Context(), broker.Room{Bytes: 1}); err != nil {
							return // it was closed
						}
						got.Add(1)
					}
				}()
			}
		}
		come(0, 3*portion)
		for i := range uint64(rounds) {
			synctest.Wait() // all wait
			got.Store(0)
			recent.Append(1, []Run{{Topic: 1, Offset: i, Count: 1, Messages: messages("x")}})
			gone := 0 // while the others are notified
			for r := range readers {
				if gone++; gone > rng.IntN(2*portion) {
					break
				}
				r.Close()
				delete(readers, r)
			}
			if i%2 == 0 {
				come(i+1, rng.IntN(2*portion))
			}
			synctest.Wait()
			for r := range readers {
				if r.Offset() != i+1 {
					t.Fatalf("round %d: a reader waits at %d, and was not told", i, r.Offset())
				}
			}
			if got.Load() == 0 {
				t.Fatalf("round %d: no reader got anything", i)
			}
		}
		recent.Close(nil)
	})
}
