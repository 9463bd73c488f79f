package node_test

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
	"wirelab/wire/status"
)

var (
	flips    = flag.Int("flips", 60, "how many bits TestFlips flips on each node")
	flipSeed = flag.Uint64("flip-seed", 1, "which ones")
)

// small has segments of 16 KiB, and nothing of them in memory.
func small(o *node.Options) {
	o.Log = wal.Options{SegmentBytes: 16 << 10, CacheBytes: 1}
}

// sealedFiles are a directory's sealed segments and their index files.
func sealedFiles(t *testing.T, fs vfs.FS) (names []string) {
	t.Helper()
	all, err := fs.List("/hermes")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if base, ok := strings.CutSuffix(name, ".index"); ok && slices.Contains(all, base+".log") {
			names = append(names, name, base+".log")
		}
	}
	return names
}

// flipBit flips a bit of a file, and returns how to see what the byte is.
func flipBit(t *testing.T, fs vfs.FS, name string, at int64, bit int) {
	t.Helper()
	f, err := fs.Open(filepath.Join("/hermes", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << bit
	if _, err = f.WriteAt(b, at); err == nil {
		err = f.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sizeOf(t *testing.T, fs vfs.FS, name string) int64 {
	t.Helper()
	f, err := fs.OpenRead(filepath.Join("/hermes", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// filled publishes until there are sealed segments on all nodes, and returns what a topic's history is.
func (c *cluster) filled(topic string, files int) (want []string) {
	c.Helper()
	leader := c.nodes[c.settled()]
	create(c.T, leader, broker.Topic{Name: topic})
	all := func() bool {
		for _, fs := range c.fs {
			if len(sealedFiles(c.T, fs)) < files {
				return false
			}
		}
		return true
	}
	until(c.T, "sealed segments", func() bool {
		payload := fmt.Sprintf("%d %*s", len(want), 200, "")
		publish(c.T, leader, topic, payload, payload)
		want = append(want, fmt.Sprintf("%d:%s", len(want), payload))
		want = append(want, fmt.Sprintf("%d:%s", len(want), payload))
		return all()
	})
	return want
}

// TestFlips: no bit that is flipped in a node's sealed segments, while it runs, on the leader or a follower,
// gives a reader or a group another message, another offset or none; damaged parts are repaired in the
// meantime, and counted.
func TestFlips(t *testing.T) {
	c := planned(t, 3, 10*time.Millisecond, time.Second)
	c.tune = func(o *node.Options) {
		small(o)
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	}
	for _, m := range c.members {
		c.begin(m.ID)
	}
	c.settled()
	want := c.filled("a", 8)
	random := rand.New(rand.NewPCG(*flipSeed, 1))
	for n := range 3 * *flips {
		id := uint64(n%3 + 1)
		names := sealedFiles(t, c.fs[id])
		name := names[random.IntN(len(names))]
		at, bit := random.Int64N(sizeOf(t, c.fs[id], name)), random.IntN(8)
		what := fmt.Sprintf("flip %d of seed %d: bit %d of byte %d of %s of node %d", n, *flipSeed, bit, at, name, id)
		flipBit(t, c.fs[id], name, at, bit)
		if got := history(t, c.nodes[id], "a", len(want)); !slices.Equal(got, want) {
			t.Fatalf("%s: %d messages came, and others than %d that were stored", what, len(got), len(want))
		}
		if n%10 == 0 {
			c.grouped(what, want)
		}
		if err := c.nodes[id].Scrub(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := c.nodes[id].Err(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for id, n := range c.nodes {
		if s := scrubbed(t, n); s.Repaired < uint64(*flips)/4 || s.Repaired != s.Damage || s.Open {
			t.Errorf("node %d after %d flips: %+v", id, *flips, s)
		}
		ready(t, n)
	}
	for _, m := range c.members {
		id := m.ID
		c.halt(id)
		checked, err := node.Check(t.Context(), c.fs[id], "/hermes", nil)
		if err != nil || len(checked.Findings) > 0 {
			t.Errorf("node %d is left with %v, %v", id, checked.Findings, err)
		}
	}
}

// grouped has a group get everything.
func (c *cluster) grouped(what string, want []string) {
	c.Helper()
	leader := c.nodes[c.settled()]
	g := broker.Group{Topic: "a", Name: "g"}
	if _, err := leader.CreateGroup(c.Context(), g, broker.Start{From: broker.FromOldest}); err != nil {
		c.Fatal(what, err)
	}
	f, err := leader.Subscribe(c.Context(), broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		c.Fatal(what, err)
	}
	defer f.Close()
	if got := next(c.T, f, min(len(want), 800)); !slices.Equal(got, want[:len(got)]) {
		c.Fatal(what, "the group got others")
	}
	if err := leader.DeleteGroup(c.Context(), "a", "g"); err != nil {
		c.Fatal(what, err)
	}
}

func scrubbed(t *testing.T, n *node.Node) node.Scrub {
	t.Helper()
	return stats(t, n).Scrub
}

func ready(t *testing.T, n *node.Node) {
	t.Helper()
	until(t, "ready", func() bool { return n.Ready(t.Context()) == nil })
}

// TestDamageAtRest: a node whose index file, or sealed segment, is damaged while it does not run starts, repairs
// it and tells.
func TestDamageAtRest(t *testing.T) {
	c := planned(t, 3, 10*time.Millisecond, time.Second)
	c.tune = small
	for _, m := range c.members {
		c.begin(m.ID)
	}
	want := c.filled("a", 4)
	id := c.follower()
	for n, part := range []struct {
		name string
		at   int64
	}{
		{"0000000000000001.index", 900},
		{"0000000000000001.log", 4000},
		{"0000000000000001.log", 20},
		{"0000000000000001.log", 70},
	} {
		c.halt(id)
		flipBit(t, c.fs[id], part.name, part.at, 3)
		c.restart(id)
		if got := history(t, c.nodes[id], "a", len(want)); !slices.Equal(got, want) {
			t.Fatalf("damage %d: other messages came", n)
		}
		// The reader and the scrubber may both have found it.
		until(t, "it is repaired and counted", func() bool {
			s := scrubbed(t, c.nodes[id])
			return s.Repaired > 0 &&
				s.Damage == s.Repaired
		})
		ready(t, c.nodes[id])
	}
}

// TestNobodyRepairs: a node that is alone ends over damage that only another could repair, and says so. Its
// index files it repairs itself.
func TestNobodyRepairs(t *testing.T) {
	c := planned(t, 1, 10*time.Millisecond, time.Second)
	c.tune = small
	c.begin(1)
	want := c.filled("a", 4)
	flipBit(t, c.fs[1], "0000000000000001.index", 900, 3)
	if got := history(t, c.nodes[1], "a", len(want)); !slices.Equal(got, want) {
		t.Fatal("other messages came")
	}
	until(t, "it is repaired", func() bool { return scrubbed(t, c.nodes[1]).Repaired > 0 })
	flipBit(t, c.fs[1], "0000000000000001.log", 4000, 3)
	<-c.nodes[1].Failed()
	var d *wal.Damage
	if err := c.nodes[1].Err(); !errors.As(err, &d) || !strings.HasSuffix(d.File, "1.log") ||
		!strings.Contains(err.Error(), "another id") {
		t.Errorf("it ended with %v", err)
	}
}

// TestNotRepairedYet: a node that cannot reach those who have a copy tells its readers to go elsewhere, is not
// ready and continues by itself.
func TestNotRepairedYet(t *testing.T) {
	c := planned(t, 3, 10*time.Millisecond, time.Second)
	c.tune = func(o *node.Options) {
		small(o)
		o.Maintenance = 200 * time.Millisecond // the round after is late enough to be cut off before
	}
	for _, m := range c.members {
		c.begin(m.ID)
	}
	want := c.filled("a", 4)
	id := c.follower()
	n := c.nodes[id]
	c.isolate(id, true)
	for at := range int64(5) { // an entry is among them
		flipBit(t, c.fs[id], "0000000000000001.log", 4000+41*at, 3)
	}
	until(t, "the damage is reported", func() bool {
		s, err := n.Status(t.Context())
		return err == nil && strings.Contains(s.Unready, "0000000000000001.log") || scrubOpen(t, n, want)
	})
	if err := n.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("it is ready: %v", err)
	}
	c.isolate(id, false)
	until(t, "it is repaired", func() bool { return scrubbed(t, n).Repaired > 0 })
	ready(t, n)
	if got := history(t, n, "a", len(want)); !slices.Equal(got, want) {
		t.Error("other messages came")
	}
}

// scrubOpen reads, and tells whether that met the damage.
func scrubOpen(t *testing.T, n *node.Node, want []string) bool {
	t.Helper()
	f, err := n.Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for got := 0; got < len(want); {
		b, err := f.Next(t.Context(), broker.Room{Bytes: 1 << 20})
		if err != nil && status.CodeOf(err) != status.Unavailable {
			t.Fatal("damage is refused with", err)
		}
		if err != nil {
			return true
		}
		got += b.Count
	}
	return false
}
