package torture

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
)

// voters are the ids of the nodes that count.
func voters(ctx context.Context, c *client.Client) (ids []uint64) {
	s, err := c.Status(ctx)
	if err != nil {
		return nil
	}
	for _, m := range s.Members {
		if !m.Learner {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// until waits until something is so.
func until(ctx context.Context, t *testing.T, what string, so func() bool) {
	t.Helper()
	for !so() {
		if ctx.Err() != nil {
			t.Fatalf("it does not come to this: %s", what)
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// Every node is replaced by a new one under load, the leader first: a node joins with an
// empty disk, gets all there is, votes, and an old one is removed, which ends and says why.
// (hb-D10: a node joined with nothing, and no error.)
func TestMembersReplaced(t *testing.T) {
	long(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cluster, c := begin(ctx, t, local.Options{})
	gap := found.does(t, "every member replaced (the longest gap)", 1)
	whileLoaded(ctx, t, c, "members", func(a *account) {
		for i := 0; more(i, 3); i++ {
			n, err := cluster.Add()
			if err != nil {
				t.Fatal(err)
			}
			if err := n.Start(ctx); err != nil {
				t.Fatal(err)
			}
			until(ctx, t, "the new node votes", func() bool { return slices.Contains(voters(ctx, c), uint64(n.ID)) })
			gone := leader(ctx, t, c)
			if gone > 3 { // a new one leads: the others are left
				gone = voters(ctx, c)[0]
			}
			until(ctx, t, "the old one is removed", func() bool {
				if _, err := c.Remove(ctx, gone); err != nil {
					t.Logf("remove %d: %v", gone, err)
				}
				return !slices.Contains(voters(ctx, c), gone)
			})
			goesOn(ctx, t, a)
			old := cluster.Nodes[gone-1]
			select {
			case <-old.Done():
			case <-ctx.Done():
				t.Fatal("a node that was removed continues")
			}
			if err := old.Stop(ctx); err == nil || !strings.Contains(err.Error(), "removed from the cluster") {
				t.Errorf("a node that was removed ended with: %v", err)
			}
			caughtUp(ctx, t, c)
		}
		gap.cost(t, a.gap())
	})
	if left := voters(ctx, c); !slices.Equal(left, []uint64{4, 5, 6}) {
		t.Errorf("the voters are %d", left)
	}
}

// A follower is away while the others give up the beginning of the log, and comes back under
// load: it gets the state of another, topics, producers and a group's place with it. Then it
// is made to lead, and all that was acknowledged is held against it.
func TestSnapshotUnderLoad(t *testing.T) {
	long(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*rounds)*time.Minute)
	defer cancel()
	cluster, c := begin(ctx, t, local.Options{Args: []string{"--segment-bytes=256KiB"}})
	install := found.does(t, "a follower gets the state of another (continues in between)", *rounds)
	short := broker.Topic{Name: "short", RetentionBytes: 512 << 10}
	whileLoadedAt(ctx, t, c, short, 2**rate, func(a *account) {
		if _, err := c.CreateGroup(ctx, broker.Group{Topic: "short", Name: "g", AckTimeout: int64(time.Minute)},
			broker.Start{From: broker.FromOldest}); err != nil {
			t.Fatal(err)
		}
		for i := 0; more(i, *rounds); i++ {
			id := leader(ctx, t, c)%3 + 1
			n := cluster.Nodes[id-1]
			before := installed(t, n)
			n.Kill()
			has, err := c.Topic(ctx, "short", true)
			if err != nil {
				t.Fatal(err)
			}
			// What it lacks is gone, and the segment that it was in.
			until(ctx, t, "the log begins behind what the follower has", func() bool {
				is, err := c.Topic(ctx, "short", true)
				return err == nil && is.First > has.Next+8000
			})
			if err := n.Start(ctx); err != nil {
				t.Fatal(err)
			}
			install.cost(t, goesOn(ctx, t, a))
			caughtUp(ctx, t, c)
			if installed(t, n) == before {
				t.Error("it did not start from another's state")
			}
			lead(ctx, t, c, int(id))
			goesOn(ctx, t, a)
			g, err := c.Group(ctx, "short", "g")
			if is, failed := c.Topic(ctx, "short", true); err != nil || failed != nil || g.Floor > is.Next ||
				g.Floor < has.First {
				t.Errorf("the group is at %+v, the topic at %+v (%v, %v)", g, is, err, failed)
			}
		}
	})
}

// installed counts how often a node began with another's state.
func installed(t *testing.T, n *local.Node) int {
	t.Helper()
	said, err := os.ReadFile(n.Dir + ".log")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(said), "starts from another's state")
}
