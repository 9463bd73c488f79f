package wal_test

import (
	"fmt"
	"math"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// What one fdatasync costs with a batch of so many messages of 100 bytes before it.
func BenchmarkAppendSync(b *testing.B) {
	for _, count := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("messages=%d", count), func(b *testing.B) {
			l, m := open(b, vfs.OS{}, b.TempDir(), wal.Options{})
			defer l.Close()
			next := map[uint32]uint64{}
			b.ReportAllocs()
			for i := uint64(1); b.Loop(); i++ {
				b.StopTimer()
				e := entry(i, 1, 1, next, count, 90, 1)
				placed, err := m.apply(e)
				must(b, err)
				must(b, l.Prepare())
				b.StartTimer()
				must(b, l.Append(state(1, i-1), []*raftpb.Entry{e}))
				must(b, l.Sync())
				must(b, l.Applied(i, placed))
			}
			b.ReportMetric(float64(count)*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// What a laggard reads from disk: sealed segments and open ones, from the system's memory.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct{ count, topics int }{{1, 1}, {100, 1}, {100, 100}, {1, 100}} {
		b.Run(fmt.Sprintf("run=%d/topics=%d", c.count, c.topics), func(b *testing.B) {
			l, m := open(b, vfs.OS{}, b.TempDir(), wal.Options{SegmentBytes: 8 << 20})
			defer l.Close()
			next := map[uint32]uint64{}
			index := uint64(0)
			for total := 0; total < 200_000; total += c.count * 10 {
				var topics []uint32
				for i := range 10 {
					topics = append(topics, 1+uint32((int(index)*10+i)%c.topics))
				}
				index++
				e := entry(index, 1, int64(index), next, c.count, 90, topics...)
				must(b, l.Append(nil, []*raftpb.Entry{e}))
				placed, err := m.apply(e)
				must(b, err)
				must(b, l.Applied(index, placed))
				if _, ok := l.Sealing(); ok || index%100 == 0 {
					must(b, l.Sync())
					must(b, l.Seal(m.index, m.snapshot(), &raftpb.ConfState{}))
				}
			}
			b.ReportAllocs()
			read, bytes, offset, id := 0, 0, uint64(0), uint32(1)
			for b.Loop() {
				batches, err := l.Read(id, offset, math.MaxUint64, 256<<10)
				must(b, err)
				if len(batches) == 0 {
					offset, id = 0, id%uint32(c.topics)+1
					continue
				}
				for _, batch := range batches {
					read += batch.Count
					bytes += len(batch.Messages)
					offset = batch.Offset + uint64(batch.Count)
				}
			}
			b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "messages/s")
			b.SetBytes(int64(bytes / b.N))
		})
	}
}
