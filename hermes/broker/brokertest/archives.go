package brokertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

var archiveTests = map[string]func(*suite){
	"Cut":          testCut,
	"CutAsItWas":   testCutAsItWas,
	"CutLarge":     testCutLarge,
	"CutRefused":   testCutRefused,
	"Restore":      testRestore,
	"RestoreAgain": testRestoreAgain,
	"RestoreGap":   testRestoreGap,
	"RestoreShut":  testRestoreShut,
	"RestoreBad":   testRestoreBad,
}

// archived is a topic as a cut gave it.
type archived struct {
	broker.Topic
	groups []broker.Group
	runs   []broker.Batch
}

// cut reads topics, or all.
func (s *suite) cut(topics ...string) (all map[string]*archived, at broker.Point) {
	s.Helper()
	c, err := s.out.Cut(s.ctx, topics)
	if err != nil {
		s.Fatalf("cut of %q: %v", topics, err)
	}
	defer c.Close()
	all, at = map[string]*archived{}, c.At()
	var now *archived
	for {
		p, err := c.Next(s.ctx, 1<<16)
		switch {
		case errors.Is(err, io.EOF):
			return all, at
		case err != nil:
			s.Fatal(err)
		case p.Topic != nil:
			now = &archived{Topic: *p.Topic}
			all[now.Name] = now
		case p.Group != nil:
			now.groups = append(now.groups, *p.Group)
		default:
			now.runs = append(now.runs, p.Runs...)
		}
	}
}

// messages is every message with its offset, and the run's time where times is set.
func (s *suite) messages(runs []broker.Batch, times bool) string {
	s.Helper()
	var text strings.Builder
	for _, b := range runs {
		for _, m := range s.unpack(b) {
			fmt.Fprintf(&text, "%d:%.20q", m.offset, m.payload)
			if times {
				fmt.Fprintf(&text, "@%d", b.Time)
			}
			text.WriteByte(' ')
		}
	}
	return strings.TrimSpace(text.String())
}

// history subscribes and reads n messages, in the form of messages.
func (s *suite) history(n int, times bool) string {
	s.Helper()
	f := s.subscribe(broker.Start{From: broker.FromOldest})
	var runs []broker.Batch
	for seen := 0; seen < n; {
		b, err := f.Next(s.ctx, broker.Room{Bytes: 1 << 20})
		if err != nil {
			s.Fatal(err)
		}
		runs = append(runs, b)
		seen += b.Count
	}
	return s.messages(runs, times)
}

// begun is a group that has acknowledged 1 and refused nothing of messages 0 to 2.
func (s *suite) begun(name string) {
	s.Helper()
	f := s.subscribe(broker.Start{From: broker.FromGroup, Group: name, InFlight: 3})
	s.take(f, 3)
	if err := f.Ack(s.ctx, []broker.Range{{First: 1, Last: 1}}); err != nil {
		s.Fatal(err)
	}
	f.Close()
}

// What was acknowledged before is in a cut, whichever node reads it, with the times that
// subscribers see; the groups are where they are.
func testCut(s *suite) {
	s.publish("a", "b")
	s.publish("c")
	s.begun("g")
	all, at := s.cut(s.topic)
	got := all[s.topic]
	if len(all) != 1 || got == nil {
		s.Fatalf("a cut of one topic has %d", len(all))
	}
	s.same("messages", s.messages(got.runs, true), s.history(3, true))
	if got.First != 0 || got.Next != 3 || got.Created == 0 || at.Index == 0 ||
		at.Time < got.runs[len(got.runs)-1].Time {
		s.Errorf("topic %+v at %+v", got.Topic, at)
	}
	if len(got.groups) != 1 {
		s.Fatalf("groups %+v", got.groups)
	}
	g := got.groups[0]
	s.same("the group", fmt.Sprint(g.Name, int(g.Floor), g.Acked, g.AckTimeout, int(g.MaxAttempts)),
		fmt.Sprint("g", 0, []broker.Range{{First: 1, Last: 1}}, int64(hermes.AckTimeout), hermes.MaxAttempts))
	whole, _ := s.cut()
	if whole[s.topic] == nil || whole[hermes.DeadLetters] == nil {
		s.Errorf("a cut of all has %d topics, and not these", len(whole))
	}
}

// What comes after a cut is not in it, though it is read later.
func testCutAsItWas(s *suite) {
	s.publish("a")
	c, err := s.out.Cut(s.ctx, []string{s.topic})
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close()
	for range 10 {
		s.publish("later")
	}
	s.begun("late")
	var seen []string
	for {
		p, err := c.Next(s.ctx, 1<<20)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.Fatal(err)
		}
		switch {
		case p.Topic != nil:
			seen = append(seen, fmt.Sprint("topic to ", p.Topic.Next))
		case p.Group != nil:
			seen = append(seen, "group "+p.Group.Name)
		default:
			seen = append(seen, s.messages(p.Runs, false))
		}
	}
	s.same("the cut", strings.Join(seen, ", "), `topic to 1, 0:"a"`)
	c.Close()
	if _, err := c.Next(s.ctx, 1); err == nil || errors.Is(err, io.EOF) {
		s.Errorf("a closed cut: %v", err)
	}
}

// Small runs, large ones and nasty bytes come whole and in order, and no part is beyond its limit.
func testCutLarge(s *suite) {
	var want []string
	for i := range 20 {
		payloads := nasty()
		if i%2 == 0 {
			payloads = make([]string, hermes.RunMessages)
		}
		s.publish(payloads...)
		want = append(want, payloads...)
	}
	s.synced()
	c, err := s.out.Cut(s.ctx, []string{s.topic})
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close()
	next := uint64(0)
	for {
		p, err := c.Next(s.ctx, 8<<10)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.Fatal(err)
		}
		bytes, messages := 0, 0
		for _, b := range p.Runs {
			if b.Offset != next || b.Count > hermes.RunMessages {
				s.Fatalf("a run of %d at %d, where %d was to come", b.Count, b.Offset, next)
			}
			for i, m := range s.unpack(b) {
				if m.payload != want[next+uint64(i)] {
					s.Fatalf("offset %d is %.40q", m.offset, m.payload)
				}
			}
			next += uint64(b.Count)
			bytes, messages = bytes+len(b.Messages), messages+b.Count
		}
		if bytes > 8<<10 && messages > 1 {
			s.Errorf("a part of %d messages has %d bytes", messages, bytes)
		}
	}
	s.same("messages", next, len(want))
}

func testCutRefused(s *suite) {
	_, err := s.out.Cut(s.ctx, []string{s.topic, s.topic + ".absent"})
	s.refused("a topic that is not there", err, status.NotFound)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err = s.out.Cut(ctx, nil)
	s.refused("a canceled caller", err, status.Canceled)
	c, err := s.out.Cut(s.ctx, nil)
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close()
	ctx, cancel = context.WithCancel(s.ctx)
	cancel()
	if _, err := c.Next(ctx, 1); status.CodeOf(err) != status.Canceled {
		s.Errorf("a canceled caller: %v", err)
	}
}

// step does a step at the node that publishes.
func (s *suite) step(step broker.Restore) broker.Restored {
	s.Helper()
	r, err := s.in.Restore(s.ctx, step)
	if err != nil {
		s.Fatalf("step %d of topic %s: %v", step.Step, step.Topic.Name, err)
	}
	return r
}

// old is a run of a time, in nanoseconds since 1970.
func old(offset uint64, at int64, payloads ...string) broker.Batch {
	return broker.Batch{Offset: offset, Count: len(payloads), Time: at, Messages: Messages(payloads...)}
}

// A topic that a cut had is brought back under its name as it was: offsets, times, groups.
func testRestore(s *suite) {
	s.publish("a", "b")
	s.publish(nasty()...)
	s.begun("g")
	before, _ := s.cut(s.topic)
	was := before[s.topic]
	n := int(was.Next)
	history := s.history(n, true)
	if err := s.in.DeleteTopic(s.ctx, s.topic); err != nil {
		s.Fatal(err)
	}
	const id = 1 << 60
	s.same("before", s.step(broker.Restore{ID: id, Topic: was.Topic}), broker.Restored{})
	s.same("begun", s.step(broker.Restore{ID: id, Step: broker.StepBegin, Topic: was.Topic}),
		broker.Restored{State: broker.RestoreBegun})
	s.same("runs", s.step(broker.Restore{ID: id, Step: broker.StepRuns, Topic: was.Topic, Runs: was.runs}),
		broker.Restored{State: broker.RestoreBegun, Next: was.Next})
	s.step(broker.Restore{ID: id, Step: broker.StepGroup, Topic: was.Topic, Group: was.groups[0]})
	s.same("done", s.step(broker.Restore{ID: id, Step: broker.StepEnd, Topic: was.Topic}),
		broker.Restored{State: broker.RestoreDone, Next: was.Next})
	s.same("to another", s.step(broker.Restore{ID: 5, Topic: was.Topic}).State, broker.RestoreOther)
	s.synced()
	s.same("history", s.history(n, true), history)
	after, _ := s.cut(s.topic)
	is := after[s.topic]
	is.ID, was.ID = 0, 0
	is.Subscribers, was.Subscribers = 0, 0
	s.same("topic", is.Topic, was.Topic)
	s.same("group", fmt.Sprint(is.groups[0].Floor, is.groups[0].Acked, is.groups[0].Lag),
		fmt.Sprint(was.groups[0].Floor,
			was.groups[0].Acked, was.groups[0].Lag))
	// By time it is found where it was.
	at := was.runs[len(was.runs)-1]
	f := s.subscribe(broker.Start{From: broker.FromTime, Time: at.Time})
	if b, err := f.Next(s.ctx, broker.Room{Bytes: 1}); err != nil || b.Time != at.Time {
		s.Errorf("from %d comes %d of %d: %v", at.Time, b.Offset, b.Time, err)
	}
	g := s.subscribe(broker.Start{From: broker.FromGroup, Group: "g"})
	if all := s.take(g, n-1); all[0].offset != 0 || all[1].offset != 2 {
		s.Errorf("the group gets %v", all)
	}
	if v := s.publish("new"); v.Offset != was.Next || v.Time < at.Time {
		s.Errorf("a publish then gives %+v", v)
	}
}

// Each step may be said again, by another node too, and existing messages are passed over.
func testRestoreAgain(s *suite) {
	topic := broker.Topic{Name: s.topic + ".old", First: 7, RetentionBytes: 1 << 40}
	runs := []broker.Batch{old(7, 100, "a", "b"), old(9, 200, "c"), old(10, 200, "d")}
	const id = 3
	for range 2 {
		for _, b := range []broker.Broker{s.in, s.out} {
			for i := range runs {
				for _, step := range []broker.Restore{
					{Step: broker.StepBegin},
					{Step: broker.StepRuns, Runs: runs[:i+1]},
				} {
					step.ID, step.Topic = id, topic
					if _, err := b.Restore(s.ctx, step); err != nil {
						s.Fatal(err)
					}
				}
			}
		}
	}
	topic.Next = 11
	for range 2 {
		s.step(broker.Restore{ID: id, Step: broker.StepEnd, Topic: topic})
	}
	s.topic = topic.Name
	s.synced()
	s.same("history", s.history(4, true), `7:"a"@100 8:"b"@100 9:"c"@200 10:"d"@200`)
	f := s.subscribe(broker.Start{From: broker.FromTime, Time: 101})
	s.same("from a time", s.take(f, 2)[0].offset, 9)
}

// Messages missing before a run were trimmed.
func testRestoreGap(s *suite) {
	topic := broker.Topic{Name: s.topic + ".old", First: 7}
	s.step(broker.Restore{ID: 3, Step: broker.StepBegin, Topic: topic})
	s.step(broker.Restore{ID: 3, Step: broker.StepRuns, Topic: topic, Runs: []broker.Batch{
		old(7, 1, "a"),
		old(20, 2, "b", "c"),
	}})
	topic.Next = 22
	s.step(broker.Restore{ID: 3, Step: broker.StepEnd, Topic: topic})
	s.topic = topic.Name
	s.synced()
	if t, err := s.out.Topic(s.ctx, s.topic, true); err != nil || t.First != 20 || t.Next != 22 {
		s.Errorf("%+v: %v", t, err)
	}
	s.same("history", s.history(2, true), `20:"b"@2 21:"c"@2`)
}

// A topic that is being restored is closed; given up by deleting it, it is as any other.
func testRestoreShut(s *suite) {
	topic := broker.Topic{Name: s.topic + ".old"}
	s.step(broker.Restore{ID: 3, Step: broker.StepBegin, Topic: topic})
	s.step(broker.Restore{ID: 3, Step: broker.StepRuns, Topic: topic, Runs: []broker.Batch{old(0, 1, "a")}})
	s.synced()
	for _, mode := range []hermes.Mode{hermes.Consistent, hermes.Performance} {
		s.refused("a publish", Publish(s.ctx, s.in, broker.Run{
			Topic: topic.Name, Messages: Messages("x"), Count: 1,
			Mode: mode,
		}).Err, status.Conflict)
	}
	for _, from := range []broker.From{broker.FromOldest, broker.FromGroup} {
		_, err := s.out.Subscribe(s.ctx, broker.Start{Topic: topic.Name, From: from, Group: "g"})
		s.refused("a subscriber", err, status.Conflict)
	}
	_, err := s.in.CreateGroup(s.ctx, broker.Group{Topic: topic.Name, Name: "g"}, broker.Start{})
	s.refused("a group", err, status.Conflict)
	_, err = s.out.Cut(s.ctx, []string{topic.Name})
	s.refused("a cut", err, status.Conflict)
	if err := s.in.DeleteTopic(s.ctx, topic.Name); err != nil {
		s.Fatal(err)
	}
	if _, err := s.in.CreateTopic(s.ctx, topic); err != nil {
		s.Fatal(err)
	}
	s.topic = topic.Name
	s.same("offset", s.publish("x").Offset, 0)
}

func testRestoreBad(s *suite) {
	topic := broker.Topic{Name: s.topic + ".old", First: 7}
	bad := func(what string, code status.Code, step broker.Restore) {
		s.Helper()
		_, err := s.in.Restore(s.ctx, step)
		s.refused(what, err, code)
	}
	bad("no name", status.InvalidArgument, broker.Restore{ID: 3, Step: broker.StepBegin})
	bad("no number", status.InvalidArgument, broker.Restore{Step: broker.StepBegin, Topic: topic})
	bad("a topic that is there", status.Conflict,
		broker.Restore{ID: 3, Step: broker.StepBegin, Topic: broker.Topic{Name: s.topic}})
	bad("runs before the beginning", status.NotFound,
		broker.Restore{ID: 3, Step: broker.StepRuns, Topic: topic, Runs: []broker.Batch{old(7, 1, "a")}})
	s.step(broker.Restore{ID: 3, Step: broker.StepBegin, Topic: topic})
	defer func() { // or no one could make a cut of all
		if err := s.in.DeleteTopic(s.ctx, topic.Name); err != nil {
			s.Error(err)
		}
	}()
	bad("another restore", status.Conflict, broker.Restore{ID: 4, Step: broker.StepBegin, Topic: topic})
	bad("another's runs", status.Conflict, broker.Restore{
		ID: 4, Step: broker.StepRuns, Topic: topic,
		Runs: []broker.Batch{old(7, 1, "a")},
	})
	bad("no runs", status.InvalidArgument, broker.Restore{ID: 3, Step: broker.StepRuns, Topic: topic})
	bad("a time to come", status.InvalidArgument, broker.Restore{
		ID: 3, Step: broker.StepRuns, Topic: topic,
		Runs: []broker.Batch{old(7, time.Now().Add(time.Hour).UnixNano(), "a")},
	})
	s.step(broker.Restore{ID: 3, Step: broker.StepRuns, Topic: topic, Runs: []broker.Batch{old(7, 1, "a", "b")}})
	bad("half of the existing part", status.Conflict,
		broker.Restore{ID: 3, Step: broker.StepRuns, Topic: topic, Runs: []broker.Batch{old(8, 1, "b", "c")}})
	topic.Next = 9
	bad("a group beyond the end", status.InvalidArgument, broker.Restore{
		ID: 3, Step: broker.StepGroup, Topic: topic,
		Group: broker.Group{Name: "g", AckTimeout: 1, MaxAttempts: 1, Floor: 10},
	})
	bad("a group of no name", status.InvalidArgument,
		broker.Restore{ID: 3, Step: broker.StepGroup, Topic: topic, Group: broker.Group{AckTimeout: 1, MaxAttempts: 1}})
	topic.Next = 8
	bad("an end before the end", status.InvalidArgument, broker.Restore{ID: 3, Step: broker.StepEnd, Topic: topic})
	bad("no such step", status.InvalidArgument, broker.Restore{ID: 3, Step: 99, Topic: topic})
}
