package node_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// rest is what comes of a cut: the runs' offsets and times, a word for each topic and group.
func rest(t *testing.T, c broker.Cut) (all []string, messages int) {
	t.Helper()
	for {
		p, err := c.Next(t.Context(), 1<<10)
		switch {
		case errors.Is(err, io.EOF):
			return all, messages
		case err != nil:
			t.Fatal(err)
		case p.Topic != nil:
			all = append(all, fmt.Sprintf("%s %d-%d", p.Topic.Name, p.Topic.First, p.Topic.Next))
		case p.Group != nil:
			all = append(all, fmt.Sprintf("%s %d %v", p.Group.Name, p.Group.Floor, p.Group.Acked))
		}
		for _, b := range p.Runs {
			all = append(all, fmt.Sprintf("%d+%d@%d", b.Offset, b.Count, b.Time))
			messages += b.Count
		}
	}
}

func step(t *testing.T, n broker.Broker, s broker.Restore) {
	t.Helper()
	s.ID = 5
	if _, err := n.Restore(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// Restored topics, and topics being restored, are so after a restart too, from the log and from sealed
// segments, from memory and from disk.
func TestRestoreAndRestart(t *testing.T) {
	fs := vfs.NewMemory()
	n := start(t, options(fs))
	done := broker.Topic{Name: "done", First: 70, Next: 1000}
	half := broker.Topic{Name: "half", First: 3}
	step(t, n, broker.Restore{Step: broker.StepBegin, Topic: done})
	step(t, n, broker.Restore{Step: broker.StepBegin, Topic: half})
	payload := strings.Repeat("x", 10<<10)
	want := []string{"done 70-1000", "g 700 []"}
	for i := range 93 { // many segments' worth
		var runs []broker.Batch
		for j := range 10 {
			runs = append(runs, broker.Batch{
				Offset: uint64(70 + 10*i + j), Count: 1, Time: int64(1000 + i),
				Messages: brokertest.Messages(payload),
			})
			want = append(want, fmt.Sprintf("%d+1@%d", 70+10*i+j, 1000+i))
		}
		step(t, n, broker.Restore{Step: broker.StepRuns, Topic: done, Runs: runs})
	}
	step(t, n, broker.Restore{Step: broker.StepRuns, Topic: half, Runs: []broker.Batch{
		{Offset: 3, Count: 1, Time: 7, Messages: brokertest.Messages("y")},
	}})
	step(t, n, broker.Restore{Step: broker.StepGroup, Topic: done, Group: broker.Group{
		Name: "g", AckTimeout: 1,
		MaxAttempts: 1, Floor: 700,
	}})
	step(t, n, broker.Restore{Step: broker.StepEnd, Topic: done})
	stop(t, n)
	n = start(t, options(fs))
	c, err := n.Cut(t.Context(), []string{"done"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, _ := rest(t, c); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after a restart: %.300s", fmt.Sprint(got))
	}
	f, err := n.Subscribe(t.Context(), broker.Start{Topic: "done", From: broker.FromTime, Time: 1050})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := f.Next(t.Context(), broker.Room{Bytes: 1}); err != nil || b.Offset != 570 {
		t.Errorf("from a time comes %d: %v", b.Offset, err)
	}
	f.Close()
	if v := brokertest.Publish(t.Context(), n, broker.Run{
		Topic: "half", Messages: brokertest.Messages("z"),
		Count: 1,
	}); status.CodeOf(v.Err) != status.Conflict {
		t.Errorf("a publish to a half restored topic: %+v", v)
	}
	half.Next = 4
	step(t, n, broker.Restore{Step: broker.StepEnd, Topic: half})
	if v := publish(t, n, "half", "z"); v.Offset != 4 {
		t.Errorf("%+v", v)
	}
	stop(t, n)
	found, err := node.Check(t.Context(), fs, "/hermes", func(int64, int64) {})
	if err != nil || len(found.Findings) > 0 {
		t.Errorf("the directory is not whole: %+v %v", found.Findings, err)
	}
}

// Retention continues while a cut is read: what it takes is missing at the front, and nothing else.
func TestCutWhileTrimmed(t *testing.T) {
	fs := vfs.NewMemory()
	n := open(t, options(fs))
	create(t, n, broker.Topic{Name: "a"})
	payload := strings.Repeat("x", 10<<10)
	for range 300 {
		publish(t, n, "a", payload)
	}
	c, err := n.Cut(t.Context(), []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 { // the topic, and two runs
		if _, err := c.Next(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.ConfigureTopic(t.Context(), broker.Topic{Name: "a", RetentionBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	first := uint64(0)
	for first == 0 {
		if time.Now().After(deadline) {
			t.Fatal("nothing is trimmed")
		}
		now, err := n.Topic(t.Context(), "a", true)
		if err != nil {
			t.Fatal(err)
		}
		first = now.First
	}
	got, messages := rest(t, c)
	if len(got) == 0 || messages > 298 || uint64(messages) < 300-first ||
		!strings.HasPrefix(got[len(got)-1], "299+1@") {
		t.Errorf("%d messages, first %d: %.200s", messages, first, fmt.Sprint(got))
	}
	// A topic that is deleted in the meantime ends it.
	c, err = n.Cut(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := n.DeleteTopic(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err = c.Next(t.Context(), 1); err != nil {
			break
		}
	}
	if status.CodeOf(err) != status.Unavailable || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("of a topic that was deleted: %v", err)
	}
	for range 10 { // those that are closed do not count, and too many are refused
		c, err = n.Cut(t.Context(), nil)
		if err != nil {
			break
		}
		defer c.Close()
	}
	if status.CodeOf(err) != status.ResourceExhausted {
		t.Errorf("too many at once: %v", err)
	}
}

// A node that is behind asks the others whether the restore has ended before it refuses a subscriber.
func TestSubscribeBehindARestore(t *testing.T) {
	c := newCluster(t, 3)
	leader, behind := c.nodes[c.settled()], c.follower()
	topic := broker.Topic{Name: "a", First: 3, Created: 5}
	step(t, leader, broker.Restore{Step: broker.StepBegin, Topic: topic})
	runs := []broker.Batch{{Offset: 3, Count: 1, Time: 7, Messages: brokertest.Messages("x")}}
	step(t, leader, broker.Restore{Step: broker.StepRuns, Topic: topic, Runs: runs})
	until(t, "the topic at each node", func() bool {
		is, err := c.nodes[behind].Topic(t.Context(), "a", false)
		return err == nil && is.Next == 4
	})
	c.isolate(behind, true)
	step(t, leader, broker.Restore{Step: broker.StepEnd, Topic: broker.Topic{Name: "a", Next: 4}})
	c.isolate(behind, false)
	f, err := c.nodes[behind].Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
