package torture

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/local"
)

// One message is kept for ever, in the first segment of a cluster's logs, and much is published and
// given up behind it, while nodes are killed in turn: their logs take few files, and keep few open, and
// what they keep is whole, by the account.
func TestOneOldMessage(t *testing.T) {
	long(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*kills)*20*time.Second)
	defer cancel()
	cluster, c := begin(ctx, t, local.Options{Args: []string{"--segment-bytes=64KiB"}})
	topic(ctx, t, c, "kept")
	if _, err := c.Publish(ctx, "kept", hermes.Consistent, &hermes.Message{Payload: []byte("old")}); err != nil {
		t.Fatal(err)
	}
	away := found.does(t, "a node killed (kill -9) while segments are joined", *kills)
	whileLoadedAt(ctx, t, c, broker.Topic{Name: "short", RetentionBytes: 300_000}, 2**rate, func(a *account) {
		for i := 0; more(i, *kills); i++ {
			n := cluster.Nodes[i%len(cluster.Nodes)]
			pause(ctx, 1500*time.Millisecond) // retention and cleaning come by the second
			n.Kill()
			if err := n.Start(ctx); err != nil {
				t.Fatal(err)
			}
			away.cost(t, goesOn(ctx, t, a))
			caughtUp(ctx, t, c)
		}
	})
	for _, n := range cluster.Nodes {
		until(ctx, t, "few files of node "+n.Dir, func() bool {
			files, err := os.ReadDir(n.Dir)
			if err != nil {
				t.Fatal(err)
			}
			open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.PID()))
			if err != nil {
				t.Fatal(err)
			}
			return len(files) <= 60 && len(open) <= 80
		})
		lead(ctx, t, c, n.ID)
		s, err := c.Subscribe(ctx, broker.Start{Topic: "kept", From: broker.FromOldest})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := s.Next(ctx); err != nil || string(d.Payload) != "old" {
			t.Errorf("node %d has %q, %v", n.ID, d.Payload, err)
		}
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}
