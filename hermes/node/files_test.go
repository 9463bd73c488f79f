package node_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// exhaust has a node's process open no more files.
func (c *cluster) exhaust(id uint64) {
	c.fs[id].Fail(func(call vfs.Call) (int, error) {
		if call.Op == vfs.Create || call.Op == vfs.Open {
			return 0, syscall.EMFILE
		}
		return 0, nil
	})
}

// TestNoFiles: a node that can open no more files stores nothing and says so, hands its leadership over, and
// continues by itself; what was acknowledged in the meantime is there.
func TestNoFiles(t *testing.T) {
	for _, name := range []string{"leader", "follower"} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3)
			id := c.settled()
			create(t, c.nodes[id], broker.Topic{Name: "a"})
			producer, err := c.nodes[id].OpenProducer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if name == "follower" {
				id = c.follower()
			}
			sent, pad := uint64(0), strings.Repeat("x", 8<<10)
			more := func() {
				sent++
				c.insist("a", producer, sent, fmt.Sprint(sent, pad))
			}
			for range 100 { // some segments, and more than is in memory
				more()
			}
			c.exhaust(id)
			until(t, "no files", func() bool {
				more()
				return stats(t, c.nodes[id]).Starved
			})
			if err := c.nodes[id].Ready(t.Context()); status.CodeOf(err) != status.Unavailable ||
				!strings.Contains(err.Error(), "no more files") {
				t.Errorf("it is ready: %v", err)
			}
			until(t, "another leader", func() bool {
				more()
				m, ok := c.nodes[id].Leader()
				return ok && m.ID != id
			})
			// Entries on its disk alone cannot be read now, which is no damage.
			if f, err := c.nodes[id].Subscribe(t.Context(),
				broker.Start{Topic: "a", From: broker.FromOldest}); err == nil {
				if _, err := f.Next(t.Context(),
					broker.Room{Bytes: 1 << 20}); status.CodeOf(err) != status.Unavailable {
					t.Errorf("a read of messages not in memory came to %v", err)
				}
				f.Close()
			}
			for range 20 {
				more()
			}
			if err := c.nodes[id].Err(); err != nil {
				t.Fatalf("it ended: %v", err)
			}
			c.fs[id].Fail(nil)
			until(t, "it continues", func() bool {
				return c.nodes[id].Ready(t.Context()) == nil &&
					!stats(t, c.nodes[id]).Starved
			})
			got := history(t, c.nodes[id], "a", int(sent))
			for i, message := range got {
				if want := fmt.Sprintf("%d:%dx", i, i+1); !strings.HasPrefix(message, want) {
					t.Fatalf("message %d is %.20q", i, message)
				}
			}
		})
	}
}
