package recentlog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
)

// batch is a run of messages of 100 bytes, one after the other.
func batch(count int) []byte {
	var b []byte
	for range count {
		b = record.AppendMessage(b, &hermes.Message{Payload: make([]byte, 100)})
	}
	return b
}

// The cost of a message from Append to all readers of its topic, in entries of runs of
// 100 messages of 100 bytes, or of as many runs of one. Readers are in goroutines of
// their own and keep up: the writer is never more than 1000 entries ahead of the last.
func BenchmarkFanOut(b *testing.B) {
	for _, size := range []int{1, 100} {
		for _, readers := range []int{0, 1, 10, 100} {
			b.Run(fmt.Sprintf("run=%d/readers=%d", size, readers), func(b *testing.B) { fanOut(b, size, readers) })
		}
	}
}

func fanOut(b *testing.B, size, readers int) {
	recent := New(Options{})
	var wg sync.WaitGroup
	var at sync.Mutex // guards seen, which the writer waits for
	moved := sync.NewCond(&at)
	seen := make([]uint64, readers)
	entries := (b.N + 99) / 100
	var batches atomic.Int64
	for i := range readers {
		r, err := recent.Open(1, 0, 0, false)
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			n := int64(0)
			for r.Offset() < uint64(entries*100) {
				if _, err := r.Next(context.Background(), broker.Room{Bytes: 1 << 20}); err != nil {
					b.Error(err)
					return
				}
				if n++; n%100 == 0 {
					at.Lock()
					seen[i] = r.Offset()
					at.Unlock()
					moved.Signal()
				}
			}
			batches.Add(n)
			at.Lock()
			seen[i] = r.Offset()
			at.Unlock()
			moved.Signal()
		})
	}
	run := batch(size)
	runs := make([]Run, 100/size)
	b.ReportAllocs()
	b.ResetTimer()
	for e := range uint64(entries) {
		for i := range runs {
			runs[i] = Run{Topic: 1, Offset: e*100 + uint64(i*size), Count: size, Messages: run}
		}
		recent.Append(1, runs)
		if e%100 == 99 && readers > 0 {
			at.Lock()
			for behind(seen, e*100) {
				moved.Wait()
			}
			at.Unlock()
		}
	}
	wg.Wait()
	if n := batches.Load(); n > 0 {
		b.ReportMetric(float64(entries*100*readers)/float64(n), "messages/batch")
	}
}

// behind tells whether any reader is more than 100,000 messages behind.
func behind(seen []uint64, at uint64) bool {
	for _, s := range seen {
		if s+100_000 < at {
			return true
		}
	}
	return false
}

// Ten thousand topics with a reader each: an entry brings a message for each of a
// hundred topics in turn, and each reader gets it before the topic's next one.
func BenchmarkTenThousandTopics(b *testing.B) {
	const topics = 10_000
	recent := New(Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var left atomic.Int64
	done := make(chan struct{}, 1)
	for id := range uint32(topics) {
		r, err := recent.Open(id, 0, 0, false)
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			for {
				if _, err := r.Next(ctx, broker.Room{Bytes: 1 << 20}); err != nil {
					return
				}
				if left.Add(-1) == 0 {
					done <- struct{}{}
				}
			}
		})
	}
	message := batch(1)
	offsets := make([]uint64, topics)
	runs := make([]Run, 100)
	b.ReportAllocs()
	b.ResetTimer()
	for e := range (b.N + 99) / 100 {
		left.Store(100)
		for i := range runs {
			id := uint32((e*100 + i) % topics)
			runs[i] = Run{Topic: id, Offset: offsets[id], Count: 1, Messages: message}
			offsets[id]++
		}
		recent.Append(1, runs)
		<-done
	}
	b.StopTimer()
	cancel()
	wg.Wait()
}

// What opening a reader costs, with ten thousand open on the topic.
func BenchmarkOpen(b *testing.B) {
	recent := New(Options{})
	for range 10_000 {
		if _, err := recent.Open(1, 0, 0, true); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		r, err := recent.Open(1, 0, 0, true)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

// What mode Performance costs: a push of 100 messages to ten readers.
func BenchmarkPush(b *testing.B) {
	recent := New(Options{})
	var readers []*Reader
	for range 10 {
		r, err := recent.Open(1, 0, 0, true)
		if err != nil {
			b.Fatal(err)
		}
		readers = append(readers, r)
	}
	run := batch(100)
	b.ReportAllocs()
	for range (b.N + 99) / 100 {
		recent.Push(1, 1, run, 100)
		for _, r := range readers {
			if _, err := r.Next(context.Background(), broker.Room{Bytes: 1 << 20}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// How long Append keeps its caller where many wait for the message.
func BenchmarkAppendToWaiting(b *testing.B) {
	for _, readers := range []int{1, 10, 64, 100, 10_000} {
		b.Run(fmt.Sprint(readers), func(b *testing.B) { appendToWaiting(b, readers) })
	}
}

func appendToWaiting(b *testing.B, readers int) {
	recent := New(Options{})
	var wg sync.WaitGroup
	var left atomic.Int64
	done := make(chan struct{}, 1)
	for range readers {
		r, err := recent.Open(1, 0, 0, false)
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			for {
				if _, err := r.Next(context.Background(), broker.Room{Bytes: 1 << 20}); err != nil {
					return
				}
				if left.Add(-1) == 0 {
					done <- struct{}{}
				}
			}
		})
	}
	message := batch(1)
	for i := range uint64(b.N) {
		left.Store(int64(readers))
		b.StartTimer()
		recent.Append(1, []Run{{Topic: 1, Offset: i, Count: 1, Messages: message}})
		b.StopTimer()
		<-done
	}
	recent.Close(nil)
	wg.Wait()
}
