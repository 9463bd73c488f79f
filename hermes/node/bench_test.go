package node_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
)

// alone starts a node on the system's disk.
func aloneOnDisk(b *testing.B) *node.Node {
	n, err := node.Open(b.Context(), node.Options{
		Self: broker.Member{ID: 1}, FS: vfs.OS{}, Dir: b.TempDir(),
		FreeBytes: 1,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	for _, ok := n.Leader(); !ok; _, ok = n.Leader() {
	}
	if _, err := n.CreateTopic(b.Context(), broker.Topic{Name: "a"}); err != nil {
		b.Fatal(err)
	}
	return n
}

// three starts three nodes on the system's disk, the syncs of one of which, the leader or
// a follower, take 20 ms longer, and returns one: the leader or a follower.
func three(b *testing.B, late string, at string) *node.Node {
	var listeners []net.Listener
	var members []broker.Member
	for i := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		listeners = append(listeners, l)
		members = append(members, broker.Member{ID: uint64(i + 1), Peer: l.Addr().String()})
	}
	var nodes []*node.Node
	var disks []*delayed
	for i, l := range listeners {
		disks = append(disks, &delayed{FS: vfs.OS{}})
		n, err := node.Open(b.Context(), node.Options{
			Self: members[i], Members: members, Listener: l, FS: disks[i],
			Dir: b.TempDir(), FreeBytes: 1,
		})
		if err != nil {
			b.Fatal(err)
		}
		nodes = append(nodes, n)
		b.Cleanup(func() {
			if err := n.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
	}
	m, ok := nodes[0].Leader()
	for ; !ok; m, ok = nodes[0].Leader() {
		time.Sleep(time.Millisecond)
	}
	leader, follower := m.ID-1, m.ID%3
	if _, err := nodes[leader].CreateTopic(b.Context(), broker.Topic{Name: "a"}); err != nil {
		b.Fatal(err)
	}
	switch late {
	case "leader":
		disks[leader].by.Store(int64(20 * time.Millisecond))
	case "follower":
		disks[follower].by.Store(int64(20 * time.Millisecond))
	}
	if at == "follower" {
		return nodes[follower]
	}
	return nodes[leader]
}

// delayed is a file system whose syncs take longer.
type delayed struct {
	vfs.FS
	by atomic.Int64
}

type delayedFile struct {
	vfs.File
	fs *delayed
}

func (s *delayed) Create(name string, size int64) (vfs.File, error) {
	f, err := s.FS.Create(name, size)
	return delayedFile{f, s}, err
}

func (f delayedFile) Sync() error {
	time.Sleep(time.Duration(f.fs.by.Load()))
	return f.File.Sync()
}

// BenchmarkThree is three nodes in one process, with all disks well, or one slow.
func BenchmarkThree(b *testing.B) {
	for _, c := range []struct{ late, at string }{
		{"", "leader"},
		{"", "follower"},
		{"leader", "leader"},
		{"follower", "leader"},
	} {
		name := "at-" + c.at
		if c.late != "" {
			name += "/slow-" + c.late
		}
		b.Run("callers/"+name, func(b *testing.B) { callers(b, three(b, c.late, c.at)) })
		b.Run("runs/"+name, func(b *testing.B) { runs(b, three(b, c.late, c.at)) })
	}
}

// BenchmarkCallers: 60 callers, each waiting for its message of 100 bytes, synced.
func BenchmarkCallers(b *testing.B) { callers(b, aloneOnDisk(b)) }

func callers(b *testing.B, n *node.Node) {
	run := broker.Run{Topic: "a", Messages: brokertest.Messages(string(make([]byte, 100))), Count: 1}
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if v := brokertest.Publish(b.Context(), n, run); v.Err != nil {
					b.Error(v.Err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkRuns: runs of 100 messages of 100 bytes, 64 under way.
func BenchmarkRuns(b *testing.B) { runs(b, aloneOnDisk(b)) }

func runs(b *testing.B, n *node.Node) {
	run := broker.Run{Topic: "a", Count: 100}
	for range run.Count {
		run.Messages = append(run.Messages, brokertest.Messages(string(make([]byte, 100)))...)
	}
	room := make(chan struct{}, 64)
	b.ResetTimer()
	for range b.N {
		room <- struct{}{}
		n.Publish(b.Context(), run, func(v broker.Verdict) {
			if v.Err != nil {
				b.Error(v.Err)
			}
			<-room
		})
	}
	for range cap(room) {
		room <- struct{}{}
	}
	b.ReportMetric(float64(run.Count*b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkSubscribe is messages of 100 bytes that were published in runs of 100, read by one
// subscriber: from the oldest, and by a group of four members, acknowledged.
func BenchmarkSubscribe(b *testing.B) {
	for _, members := range []int{0, 1, 4} {
		b.Run(fmt.Sprint("members-", members), func(b *testing.B) {
			n := aloneOnDisk(b)
			b.StopTimer()
			runs(b, n)
			start := broker.Start{Topic: "a", From: broker.FromOldest}
			if members > 0 {
				start.From, start.Group, start.InFlight = broker.FromGroup, "g", 10_000
			}
			var wg sync.WaitGroup
			var left atomic.Int64
			left.Store(int64(100 * b.N))
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			b.ResetTimer()
			b.StartTimer()
			for range max(1, members) {
				f, err := n.Subscribe(ctx, start)
				if err != nil {
					b.Fatal(err)
				}
				wg.Go(func() {
					for left.Load() > 0 {
						got, err := f.Next(ctx, broker.Room{Bytes: 256 << 10})
						if err != nil {
							return // the others had the rest
						}
						if members > 0 {
							if err := f.Ack(b.Context(),
								[]broker.Range{{
									First: got.Offset,
									Last:  got.Offset + uint64(got.Count) - 1,
								}}); err != nil {
								b.Error(err)
							}
						}
						if left.Add(-int64(got.Count)) <= 0 {
							cancel()
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(100*b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
