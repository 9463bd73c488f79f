package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/backup"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// lost is a cluster of three that published with an account, and then lost all but one directory.
type lost struct {
	*cluster
	survivor uint64
	producer uint64
	want     []string // the account: offset and payload of each message that was acknowledged
}

// loses makes one, with a group that has acknowledged the messages 0 and 2.
func loses(t *testing.T) *lost {
	t.Helper()
	c := newCluster(t, 3)
	l := &lost{cluster: c, survivor: c.follower()}
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a"})
	var err error
	if l.producer, err = c.nodes[c.settled()].OpenProducer(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		v := c.insist("a", l.producer, uint64(i)+1, fmt.Sprint("m", i))
		l.want = append(l.want, fmt.Sprintf("%d:m%d", v.Offset, i))
	}
	l.fill("trimmed", 1<<16, 60)
	f, err := c.nodes[c.settled()].Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	next(t, f, 3)
	if err := f.Ack(t.Context(), []broker.Range{{First: 0, Last: 0}, {First: 2, Last: 2}}); err != nil {
		t.Fatal(err)
	}
	applied, err := c.nodes[c.settled()].Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the survivor to have all", func() bool {
		s, err := c.nodes[l.survivor].Status(t.Context())
		return err == nil && s.Applied >= applied.Applied
	})
	c.stop()
	return l
}

// fill publishes so many messages of 16 KiB to a topic that keeps so many bytes: segments are sealed for them.
func (l *lost) fill(topic string, keeps uint64, count int) {
	l.Helper()
	create(l.T, l.nodes[l.settled()], broker.Topic{Name: topic, RetentionBytes: keeps})
	pad := strings.Repeat("x", 16<<10)
	for range count {
		l.insist(topic, 0, 0, pad)
	}
}

func agree(node.Survey) error { return nil }

// whole fails where a directory is not.
func whole(t *testing.T, fs vfs.FS) node.Checked {
	t.Helper()
	c, err := node.Check(t.Context(), fs, "/hermes", nil)
	if err != nil || len(c.Findings) > 0 {
		t.Fatalf("%v, %+v", err, c.Findings)
	}
	return c
}

// A majority is lost for ever. The copy that is left becomes a cluster of one in which each acknowledged message is
// at its offset, and groups and producers are as they were; new nodes join it, under old ids too; those of the former
// cluster that come back are refused, and told why.
func TestRecover(t *testing.T) {
	l := loses(t)
	whole(t, l.fs[l.survivor])
	var told node.Survey
	done, err := node.Recover(t.Context(), l.fs[l.survivor], "/hermes", func(s node.Survey) error {
		told = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if told.Node != l.survivor || told.Last < told.Committed || len(told.Others) != 2 || told.Messages < 50 ||
		told.Time == 0 || done.Lineage < 2 {
		t.Errorf("it tells %+v", done)
	}
	if c := whole(t, l.fs[l.survivor]); !slices.Equal(c.Conf.GetVoters(), []uint64{l.survivor}) || len(c.Others) != 0 {
		t.Errorf("members after it: %v, %v", c.Conf, c.Others)
	}
	l.restart(l.survivor) // with the list of members that it always had
	l.survived()
	l.newcomer()
	l.returns()
}

// survived compares the recovered node with the account.
func (l *lost) survived() {
	l.Helper()
	n := l.nodes[l.settled()]
	if got := history(l.T, n, "a", len(l.want)); !slices.Equal(got, l.want) {
		l.Errorf("it has %v", got)
	}
	run := broker.Run{Topic: "a", Messages: brokertest.Messages("m49"), Count: 1, Producer: l.producer, Sequence: 50}
	if v := brokertest.Publish(l.Context(), n, run); v.Err != nil || !v.Duplicate || v.Offset != 49 {
		l.Errorf("what the producer published last, again: %+v", v)
	}
	if g, err := n.Group(l.Context(), "a", "g"); err != nil || g.Floor != 1 || len(g.Acked) != 1 ||
		g.Acked[0] != (broker.Range{First: 2, Last: 2}) {
		l.Errorf("the group is %+v, %v", g, err)
	}
	if v := publish(l.T, n, "a", "new"); v.Offset != 50 {
		l.Errorf("the next message is at %d", v.Offset)
	}
}

// newcomer joins a node with an empty directory, under the id of one that was lost.
func (l *lost) newcomer() {
	l.Helper()
	l.fill("kept", 0, 512) // more than is applied at once, between what took that id out and what lets it in
	id := l.survivor%3 + 1
	old := l.fs[id]
	defer func() { l.halt(id); l.fs[id], l.disks[id].FS = old, old }()
	l.fs[id] = vfs.NewMemory()
	l.disks[id].FS = l.fs[id]
	l.start(id, l.listen(l.members[id-1].Peer), nil, []string{l.members[l.survivor-1].Peer})
	until(l.T, "a second voter", func() bool {
		s, err := l.nodes[l.survivor].Status(l.Context())
		return err == nil && len(s.Members) == 2 && !s.Members[0].Learner && !s.Members[1].Learner
	})
	if got := history(l.T, l.nodes[id], "a", 51); got[50] != "50:new" {
		l.Errorf("the newcomer has %v", got)
	}
	if v := publish(l.T, l.nodes[id], "a", "newer"); v.Offset != 51 {
		l.Errorf("by the newcomer: %+v", v)
	}
	l.halt(id)
	l.start(id, l.listen(l.members[id-1].Peer), nil, []string{l.members[l.survivor-1].Peer})
	if v := publish(l.T, l.nodes[l.settled()], "a", "newest"); v.Offset != 52 {
		l.Errorf("after its restart: %+v", v)
	}
	if _, err := l.nodes[l.settled()].Remove(l.Context(), id); err != nil {
		l.Error(err)
	}
}

// returns starts a node of the former cluster, from its directory of then, and one that lost its own.
func (l *lost) returns() {
	l.Helper()
	id := l.survivor%3 + 1
	l.restart(id)
	until(l.T, "the former node learns why", func() bool {
		err := l.nodes[id].Ready(l.Context())
		return err != nil && strings.Contains(err.Error(), "recovered from a copy") &&
			strings.Contains(err.Error(), "--join")
	})
	if v := publish(l.T, l.nodes[l.survivor], "a", "last"); v.Offset != 53 {
		l.Errorf("with a former node: %+v", v)
	}
	if s, err := l.nodes[id].Topic(l.Context(), "a", false); err != nil || s.Next != 50 {
		l.Errorf("the former node has %d messages, %v", s.Next, err)
	}
	empty := id%3 + 1
	if empty == l.survivor {
		empty = empty%3 + 1
	}
	l.fs[empty] = vfs.NewMemory()
	l.disks[empty].FS = l.fs[empty]
	n, err := l.open(empty, l.listen(l.members[empty-1].Peer), l.members, nil)
	if err == nil {
		<-n.Failed()
		err = n.Err()
		_ = n.Close(l.Context())
	}
	if !strings.Contains(fmt.Sprint(err), "another cluster of this name") && !strings.Contains(fmt.Sprint(err),
		"another directory") {
		l.Errorf("one that lost its directory and begins anew: %v", err)
	}
}

// What recover refuses changes nothing.
func TestRecoverRefused(t *testing.T) {
	l := loses(t)
	fs := l.fs[l.survivor]
	no := errors.New("no")
	before := fs.String()
	if _, err := node.Recover(t.Context(), fs, "/hermes", func(node.Survey) error { return no }); !errors.Is(err, no) {
		t.Errorf("who says no is notified %v", err)
	}
	if fs.String() != before {
		t.Error("the directory is another, though the answer was no")
	}
	lock, err := fs.Lock("/hermes")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.Recover(t.Context(), fs, "/hermes", agree); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("a directory in use: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Recover(t.Context(), vfs.NewMemory(), "/hermes", agree); status.CodeOf(err) != status.NotFound {
		t.Errorf("a directory without a log: %v", err)
	}
	if _, err := node.Recover(t.Context(), fs, "/hermes", agree); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Recover(t.Context(), fs, "/hermes", agree); status.CodeOf(err) != status.Conflict ||
		!strings.Contains(err.Error(), "only member") {
		t.Errorf("a second time: %v", err)
	}
}

// TestRecoverCut: a power cut before any of recover's changes of the disk leaves the former directory, or one that
// the next start takes for the new cluster's, with everything.
func TestRecoverCut(t *testing.T) {
	l := loses(t)
	origin := l.fs[l.survivor]
	former, begun := 0, 0
	for at := 1; ; at++ {
		fs := duplicate(t, origin)
		first := fs.Counts().Calls
		fs.Fail(func(c vfs.Call) (int, error) {
			if c.Op != vfs.Read && c.Number >= first+at {
				return c.Bytes / 2, errors.New("the power is cut")
			}
			return 0, nil
		})
		_, err := node.Recover(t.Context(), fs, "/hermes", agree)
		fs.Fail(nil)
		fs.Cut(vfs.Cut{Names: func(n int) int { return n * (at % 2) }, Keep: func(_ string, _ int64, n int) int {
			return n * (at % 2)
		}})
		if err == nil {
			break
		}
		c := whole(t, fs)
		l.fs[l.survivor], l.disks[l.survivor].FS = fs, fs
		l.restart(l.survivor)
		s, err := l.nodes[l.survivor].Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case s.Lineage == 1 && len(s.Members) == 3 && slices.Equal(c.Conf.GetVoters(), []uint64{1, 2, 3}):
			former++
		case s.Lineage > 1 && len(s.Members) == 1:
			begun++
			l.survived()
		default:
			t.Fatalf("cut at change %d: neither: %+v, %v", at, s, c.Conf)
		}
		l.halt(l.survivor)
	}
	if former == 0 || begun == 0 {
		t.Errorf("%d cuts left the former directory, %d the new one: both should be seen", former, begun)
	}
}

// duplicate is a copy of a directory, all of it on disk.
func duplicate(t *testing.T, from *vfs.Memory) *vfs.Memory {
	t.Helper()
	to := vfs.NewMemory()
	names, err := from.List("/hermes")
	if err == nil {
		err = to.MkdirAll("/hermes")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		err := func() error {
			f, err := from.OpenRead("/hermes/" + name)
			if err != nil {
				return err
			}
			size, err := f.Size()
			if err != nil {
				return err
			}
			b := make([]byte, size)
			if n, err := f.ReadAt(b, 0); n < len(b) {
				return err
			}
			g, err := to.Create("/hermes/"+name, size)
			if err != nil {
				return err
			}
			_, err = g.WriteAt(b, 0)
			return errors.Join(err, g.Sync(), g.Close(), f.Close())
		}()
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := to.SyncDir("/hermes"); err != nil {
		t.Fatal(err)
	}
	return to
}

// A stopped node's directory gives a backup, which restored is what was acknowledged.
func TestExport(t *testing.T) {
	l := loses(t)
	fs := l.fs[l.survivor]
	before := fs.String()
	var file bytes.Buffer
	c, err := node.OpenCopy(t.Context(), fs, "/hermes", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.OpenCopy(t.Context(), fs, "/hermes", true); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("a directory that is read: %v", err)
	}
	if _, err := backup.Save(t.Context(), c, nil, &file, func(backup.Totals) {}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if fs.String() != before {
		t.Error("the directory was changed")
	}
	contents, err := backup.Verify(t.Context(), bytes.NewReader(file.Bytes()))
	if err != nil || contents.Messages < 50 || contents.Groups != 1 {
		t.Fatalf("%+v, %v", contents, err)
	}
	to := open(t, options(vfs.NewMemory()))
	plan, err := backup.Plan(t.Context(), to, contents, nil)
	if err == nil {
		err = backup.Restore(t.Context(), to, contents, plan, &file, func(backup.Totals) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := history(t, to, "a", len(l.want)); !slices.Equal(got, l.want) {
		t.Errorf("restored it has %v", got)
	}
	if g, err := to.Group(t.Context(), "a", "g"); err != nil || g.Floor != 1 || len(g.Acked) != 1 {
		t.Errorf("the group is %+v, %v", g, err)
	}
}

// TestBeyondCommit: entries that a node has and does not know to be committed are reported; an export takes
// them where that is asked for, and recover keeps them, since some may have been acknowledged.
func TestBeyondCommit(t *testing.T) {
	c := newCluster(t, 3)
	l := &lost{cluster: c, survivor: c.settled()}
	n := c.nodes[l.survivor]
	create(t, n, broker.Topic{Name: "a"})
	publish(t, n, "a", "known")
	for id := range c.nodes {
		if id != l.survivor {
			c.isolate(id, true)
		}
	}
	// It is stored here and nowhere else, and its outcome is unknown.
	stored := make(chan struct{})
	n.Publish(t.Context(), broker.Run{
		Topic: "a", Messages: brokertest.Messages("unknown"), Count: 1,
		Mode: hermes.Eventual,
	}, func(v broker.Verdict) {
		if v.Provisional {
			close(stored)
		}
	})
	<-stored
	c.stop()
	messages := func(beyond bool) (uint64, node.Survey) {
		copied, err := node.OpenCopy(t.Context(), c.fs[l.survivor], "/hermes", beyond)
		if err != nil {
			t.Fatal(err)
		}
		defer copied.Close()
		var file bytes.Buffer
		totals, err := backup.Save(t.Context(), copied, nil, &file, func(backup.Totals) {})
		if err != nil {
			t.Fatal(err)
		}
		return totals.Messages, copied.Survey()
	}
	if got, s := messages(false); got != 1 || s.Last <= s.Committed {
		t.Errorf("of the committed messages it has %d messages: %+v", got, s)
	}
	if got, s := messages(true); got != 2 || s.Last <= s.Committed {
		t.Errorf("with the others it has %d messages: %+v", got, s)
	}
	if _, err := node.Recover(t.Context(), c.fs[l.survivor], "/hermes", agree); err != nil {
		t.Fatal(err)
	}
	for id := range c.fs {
		c.isolate(id, false)
	}
	c.restart(l.survivor)
	c.settled()
	if got := history(t, c.nodes[l.survivor], "a", 2); got[0] != "0:known" || got[1] != "1:unknown" {
		t.Errorf("recovered it has %v", got)
	}
}
