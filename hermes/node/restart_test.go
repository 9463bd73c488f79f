package node_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// TestRestart: messages, offsets, producers and groups are what they were. (hb-D01, hb-D02, hb-D12)
func TestRestart(t *testing.T) {
	fs := vfs.NewMemory()
	n := start(t, options(fs))
	create(t, n, broker.Topic{Name: "a", RetentionBytes: 1 << 40})
	producer, err := n.OpenProducer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := broker.Run{
		Topic: "a", Messages: brokertest.Messages("0", "1", "2"), Count: 3, Producer: producer,
		Sequence: 1,
	}
	if v := brokertest.Publish(t.Context(), n, run); v.Err != nil || v.Offset != 0 {
		t.Fatalf("%+v", v)
	}
	publish(t, n, "a", "3")
	f, err := n.Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	next(t, f, 4)
	if err := f.Ack(t.Context(), []broker.Range{{First: 0, Last: 0}, {First: 2, Last: 3}}); err != nil {
		t.Fatal(err)
	}
	stop(t, n)
	if _, err := f.Next(t.Context(), broker.Room{Bytes: 1}); err == nil || status.CodeOf(err) != status.Unavailable {
		t.Errorf("a feed of a node that stopped: %v", err)
	}

	n = open(t, options(fs))
	if v := brokertest.Publish(t.Context(), n, run); v.Err != nil || v.Offset != 0 || !v.Duplicate {
		t.Errorf("what was stored before the restart, again: %+v", v)
	}
	if v := publish(t, n, "a", "4"); v.Offset != 4 {
		t.Errorf("the next offset is %d", v.Offset)
	}
	if got := history(t, n, "a", 5); !slices.Equal(got, []string{"0:0", "1:1", "2:2", "3:3", "4:4"}) {
		t.Error(got)
	}
	f, err = n.Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := next(t, f, 2); !slices.Equal(got, []string{"1:1", "4:4"}) {
		t.Errorf("the group continues with %v", got)
	}
}

// TestPowerCut: whatever was acknowledged is there after any loss of what was not
// synced. (hb-D05, hb-D09)
func TestPowerCut(t *testing.T) {
	fs := vfs.NewMemory()
	var want []string
	for round := range 4 {
		n := start(t, options(fs))
		create(t, n, broker.Topic{Name: "a"})
		for range 50 {
			p := fmt.Sprint(len(want))
			if v := publish(t, n, "a", p); v.Offset != uint64(len(want)) {
				t.Fatalf("message %s has offset %d", p, v.Offset)
			}
			want = append(want, p+":"+p)
		}
		fs.Cut(vfs.Cut{}) // nothing that was not synced is left
		<-failedBy(t, n)
		_ = n.Close(t.Context()) // it cannot close its files any more
		n = start(t, options(fs))
		if got := history(t, n, "a", len(want)); !slices.Equal(got, want) {
			t.Fatalf("round %d: %d messages, not as acknowledged", round, len(got))
		}
		stop(t, n)
	}
}

// failedBy makes a node find out that its disk is gone.
func failedBy(t *testing.T, n interface {
	broker.Broker
	Failed() <-chan struct{}
},
) <-chan struct{} {
	t.Helper()
	v := brokertest.Publish(t.Context(), n, broker.Run{Topic: "a", Messages: brokertest.Messages("x"), Count: 1})
	if v.Err == nil {
		t.Error("a publish was acknowledged without a disk")
	}
	return n.Failed()
}

// TestManySegments: the content of sealed segments is read, trimmed and given back.
func TestManySegments(t *testing.T) {
	fs := vfs.NewMemory()
	o := options(fs)
	o.RecentLogBytes = 64 << 10
	n := open(t, o)
	create(t, n, broker.Topic{Name: "kept"})
	create(t, n, broker.Topic{Name: "short", RetentionBytes: 100 << 10})
	pad := string(make([]byte, 4<<10))
	for i := range 300 {
		publish(t, n, "short", pad)
		publish(t, n, "kept", fmt.Sprint(i))
	}
	until(t, "retention", func() bool {
		s, err := n.Topic(t.Context(), "short", false)
		return err == nil && s.First > 200 && s.Bytes < 200<<10
	})
	until(t, "a segment that was cleaned, and perhaps joined with others since", func() bool {
		names, err := fs.List("/hermes")
		return err == nil && slices.ContainsFunc(names, func(n string) bool {
			return strings.HasSuffix(n, ".log") && strings.Count(n, ".") == 2
		})
	})
	got := history(t, n, "kept", 300)
	for i, m := range got {
		if m != fmt.Sprintf("%d:%d", i, i) {
			t.Fatalf("message %d is %s", i, m)
		}
	}
	s, err := n.Topic(t.Context(), "short", false)
	if err != nil {
		t.Fatal(err)
	}
	f, err := n.Subscribe(t.Context(), broker.Start{Topic: "short", From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := f.Next(t.Context(), broker.Room{Bytes: 1}); err != nil || b.Offset < s.First {
		t.Errorf("the oldest is %d, %v; first is %d", b.Offset, err, s.First)
	}
}

func TestRetentionAge(t *testing.T) {
	n := open(t, options(vfs.NewMemory()))
	create(t, n, broker.Topic{Name: "a", RetentionAge: int64(20 * time.Millisecond)})
	publish(t, n, "a", "x", "y")
	until(t, "retention", func() bool {
		s, err := n.Topic(t.Context(), "a", false)
		return err == nil && s.First == 2 && s.Bytes == 0
	})
	if v := publish(t, n, "a", "z"); v.Offset != 2 {
		t.Errorf("an offset was used again: %+v", v)
	}
}

// TestFailStop: a write or sync that fails ends the node, and nothing is acknowledged. (hb-D11)
func TestFailStop(t *testing.T) {
	for _, op := range []vfs.Op{vfs.Write, vfs.Sync} {
		fs := vfs.NewMemory()
		n := start(t, options(fs))
		create(t, n, broker.Topic{Name: "a"})
		f, err := n.Subscribe(t.Context(), broker.Start{Topic: "a"})
		if err != nil {
			t.Fatal(err)
		}
		fs.Fail(func(c vfs.Call) (int, error) {
			if c.Op == op {
				return 0, syscall.EIO
			}
			return 0, nil
		})
		<-failedBy(t, n)
		if n.Err() == nil {
			t.Error("it does not say why")
		}
		_, err = f.Next(t.Context(), broker.Room{Bytes: 1})
		if err == nil || status.CodeOf(err) != status.Unavailable {
			t.Errorf("its feed ended with %v", err)
		}
		_ = n.Close(t.Context())
	}
}

// TestFull: with too little room publishes are refused, and what frees some still goes. (hb-D26)
func TestFull(t *testing.T) {
	fs := vfs.NewMemory()
	o := options(fs)
	o.FreeBytes = 1 << 63
	n := open(t, o)
	create(t, n, broker.Topic{Name: "a"})
	run := broker.Run{Topic: "a", Messages: brokertest.Messages("x"), Count: 1}
	until(t, "a refusal", func() bool {
		v := brokertest.Publish(t.Context(), n, run)
		return v.Err != nil && status.CodeOf(v.Err) == status.ResourceExhausted
	})
	if err := n.DeleteTopic(t.Context(), "a"); err != nil {
		t.Error("what frees room is refused too:", err)
	}
	if _, err := n.Topic(t.Context(), hermes.DeadLetters, true); err != nil {
		t.Error(err)
	}
}

// TestSpare: the log's next segments have room, however little is said to be left free. (hb-D26)
func TestSpare(t *testing.T) {
	fs := vfs.NewMemory()
	o := options(fs) // FreeBytes: 1
	n := open(t, o)
	create(t, n, broker.Topic{Name: "a"})
	fs.SetCapacity(1 << 40)
	free, err := fs.Free(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	fs.SetCapacity(1<<40 - free + o.Log.Spare() - 1)
	until(t, "a refusal", func() bool {
		v := brokertest.Publish(t.Context(), n, broker.Run{Topic: "a", Messages: brokertest.Messages("x"), Count: 1})
		return v.Err != nil && status.CodeOf(v.Err) == status.ResourceExhausted
	})
	if err := n.Err(); err != nil {
		t.Error(err)
	}
}

// TestForeignDirectory: a node does not go on with another's log. (hb-D35)
func TestForeignDirectory(t *testing.T) {
	fs := vfs.NewMemory()
	stop(t, start(t, options(fs)))
	for _, change := range []func(*node.Options){
		func(o *node.Options) { o.Self.ID = 2 },
		func(o *node.Options) { o.Cluster = "other" },
	} {
		o := options(fs)
		change(&o)
		if n, err := node.Open(t.Context(), o); err == nil {
			stop(t, n)
			t.Error("it was opened")
		} else if status.CodeOf(err) != status.Conflict {
			t.Error(err)
		}
	}
	stop(t, start(t, options(fs)))
}

func TestOptions(t *testing.T) {
	self := broker.Member{ID: 1}
	for name, o := range map[string]node.Options{
		"no id":             {Dir: "/a"},
		"no directory":      {Self: self},
		"both":              {Self: self, Dir: "/a", Members: []broker.Member{self}, Join: []string{"x"}},
		"no listener":       {Self: self, Dir: "/a", Join: []string{"x"}},
		"not among them":    {Self: self, Dir: "/a", Members: []broker.Member{{ID: 2}}},
		"one id twice":      {Self: self, Dir: "/a", Members: []broker.Member{self, self}},
		"a negative number": {Self: self, Dir: "/a", Tick: -1},
	} {
		o.FS = vfs.NewMemory()
		if n, err := node.Open(t.Context(), o); err == nil {
			stop(t, n)
			t.Errorf("%s: it was opened", name)
		}
	}
}
