package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// putBack replaces a node's disk, which nothing runs on. blind: by a copy that keeps when files were created,
// as the image of a whole volume does.
func (c *cluster) putBack(id uint64, files *vfs.Memory, blind bool) {
	c.fs[id], c.disks[id] = files, &slow{FS: files}
	c.disks[id].blind.Store(blind)
}

// TestOlderCopyIsRefused: a node that comes back with an older copy of its directory is refused by a node that
// saw it have more: it ends and says what to do, and the others go on.
func TestOlderCopyIsRefused(t *testing.T) {
	for _, blind := range []bool{false, true} {
		c := newCluster(t, 3)
		leader := c.settled()
		create(t, c.nodes[leader], broker.Topic{Name: "a"})
		var want []string
		more := func() {
			for range 10 {
				publish(t, c.nodes[leader], "a", fmt.Sprint(len(want)))
				want = append(want, fmt.Sprintf("%d:%d", len(want), len(want)))
			}
		}
		more()
		old := c.follower()
		files := c.fs[old].Copy()
		more()
		until(t, "the follower to have all", func() bool {
			s, err := c.nodes[leader].Status(t.Context())
			return err == nil && s.Members[old-1].Match == s.Committed
		})
		c.halt(old)
		c.putBack(old, files, blind)
		c.restart(old)
		err := ended(t, c.nodes[old])
		if status.CodeOf(err) != status.Conflict {
			t.Errorf("blind %v: it ended with %v", blind, err)
		}
		c.halt(old)
		more()
		if got := history(t, c.nodes[leader], "a", len(want)); !slices.Equal(got, want) {
			t.Errorf("blind %v: the leader has %v", blind, got)
		}
		c.stop()
	}
}

// split has node 3 forget what only it and the leader have, which is away. It returns what was acknowledged.
func split(t *testing.T, c *cluster, blind bool) (leader, forgetful, away uint64, want []string) {
	t.Helper()
	leader = c.settled()
	create(t, c.nodes[leader], broker.Topic{Name: "a"})
	more := func(n int) {
		for range n {
			publish(t, c.nodes[leader], "a", fmt.Sprint("B", len(want)))
			want = append(want, fmt.Sprintf("%d:B%d", len(want), len(want)))
		}
	}
	more(20)
	forgetful = c.follower()
	away = 6 - leader - forgetful
	until(t, "all to have all", func() bool {
		s, err := c.nodes[leader].Status(t.Context())
		return err == nil && s.Members[forgetful-1].Match == s.Committed && s.Members[away-1].Match == s.Committed
	})
	files := c.fs[forgetful].Copy()
	c.halt(away)
	more(20)
	c.halt(forgetful)
	c.halt(leader)
	c.putBack(forgetful, files, blind)
	return leader, forgetful, away, want
}

// TestCopyWhileTheOtherNodeIsAway: the one node that saw more is away, and those that are there are a majority
// by number. The node knows that its directory is a copy, so no node leads until the other is back.
func TestCopyWhileTheOtherNodeIsAway(t *testing.T) {
	c := newCluster(t, 3)
	leader, forgetful, away, want := split(t, c, false)
	c.restart(away)
	c.restart(forgetful)
	until(t, "a word of the copy", func() bool {
		err := c.nodes[forgetful].Ready(t.Context())
		return err != nil && strings.Contains(err.Error(), "directory is a copy")
	})
	if !stats(t, c.nodes[forgetful]).Copied {
		t.Error("it does not tell that its directory is a copy")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of their 100 elections
	defer cancel()
	v := brokertest.Publish(ctx, c.nodes[away], broker.Run{Topic: "a", Messages: brokertest.Messages("C"), Count: 1})
	if v.Err == nil {
		t.Fatalf("offset %d was acknowledged again", v.Offset)
	}
	c.restart(leader)
	until(t, "the node to be refused, or to catch up", func() bool {
		return c.nodes[forgetful].Err() != nil || c.nodes[forgetful].Ready(t.Context()) == nil
	})
	if c.nodes[forgetful].Err() != nil {
		c.halt(forgetful)
	}
	c.settled()
	for id, n := range c.nodes {
		if got := history(t, n, "a", len(want)); !slices.Equal(got, want) {
			t.Errorf("node %d has %v", id, got)
		}
	}
}

// TestMovedDirectory: a directory that was moved, and is the latest, is taken for that when it is said so.
func TestMovedDirectory(t *testing.T) {
	c := planned(t, 3, 10*time.Millisecond, 100*time.Millisecond)
	for _, m := range c.members {
		c.begin(m.ID)
	}
	leader := c.settled()
	create(t, c.nodes[leader], broker.Topic{Name: "a"})
	publish(t, c.nodes[leader], "a", "0")
	c.stop()
	for id := uint64(1); id <= 3; id++ { // the whole cluster, to other disks
		c.putBack(id, c.fs[id].Copy(), false)
	}
	c.moved = true
	for id := uint64(1); id <= 3; id++ {
		c.restart(id)
	}
	publish(t, c.nodes[c.settled()], "a", "1")
	c.moved = false
	c.stop()
	for id := uint64(1); id <= 3; id++ {
		c.restart(id)
	}
	if got := history(t, c.nodes[c.settled()], "a", 2); !slices.Equal(got, []string{"0:0", "1:1"}) {
		t.Errorf("%v", got)
	}
}

// TestTwoHistories: where no node could notice, two histories are acknowledged. That does not pass in silence:
// the node that has the first stops and keeps it, and the leader tells too.
func TestTwoHistories(t *testing.T) {
	c := newCluster(t, 3)
	first, forgetful, away, want := split(t, c, true)
	c.restart(away)
	c.restart(forgetful)
	second := c.settled()
	for i := range 5 {
		publish(t, c.nodes[second], "a", fmt.Sprint("C", i))
	}
	c.restart(first)
	err := ended(t, c.nodes[first])
	if status.CodeOf(err) != status.Conflict || !strings.Contains(err.Error(), "committed different entries") {
		t.Errorf("it ended with %v", err)
	}
	// The first knows, too, what the second has forgotten: one of the two others is refused, or reports the first.
	until(t, "another node to tell", func() bool {
		why := c.nodes[away].Ready(t.Context())
		return c.nodes[forgetful].Err() != nil ||
			why != nil && strings.Contains(why.Error(), "committed different entries")
	})
	c.stop()
	c.restart(first) // alone it acknowledges nothing, and what it has can be read
	if got := history(t, c.nodes[first], "a", len(want)); !slices.Equal(got, want) {
		t.Errorf("the first history is %v", got)
	}
}

// TestDamagedCustody: a node that cannot read what it knew of the others takes its directory for a copy.
func TestDamagedCustody(t *testing.T) {
	c := newCluster(t, 3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	publish(t, c.nodes[c.settled()], "a", "0")
	id := c.follower()
	c.halt(id)
	f, err := c.fs[id].Open("/hermes/custody.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), 20); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	checked, err := node.Check(t.Context(), c.fs[id], "/hermes", nil)
	if err != nil || len(checked.Findings) != 1 || !strings.Contains(checked.Findings[0].File, "custody.json") {
		t.Errorf("a check finds %v, %v", checked.Findings, err)
	}
	c.restart(id)
	publish(t, c.nodes[c.settled()], "a", "1")
	until(t, "the node to catch up", func() bool { return c.nodes[id].Ready(t.Context()) == nil })
	c.halt(id)
	if checked, err := node.Check(t.Context(), c.fs[id], "/hermes", nil); err != nil || len(checked.Findings) != 0 {
		t.Errorf("afterwards a check finds %v, %v", checked.Findings, err)
	}
}
