package api_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/wire/status"
)

// topic makes one for a test, with messages m0, m1 and so on.
func topic(t *testing.T, at caller, name string, messages int) string {
	t.Helper()
	name = strings.ReplaceAll(name, " ", "-")
	ok(t, at, want{call: "create", topic: name})
	if messages > 0 {
		publish(t, at, name, 0, messages)
	}
	return name
}

// publish publishes messages as one run, named from a number on.
func publish(t *testing.T, at caller, topic string, from, n int) {
	t.Helper()
	r := run{topic: topic}
	for i := range n {
		r.payloads = append(r.payloads, fmt.Append(nil, "m", from+i))
	}
	ok(t, at, want{call: "publish", runs: []run{r}})
}

// reads wants the next messages of a subscription.
func reads(t *testing.T, s stream, offsets ...uint64) []got {
	t.Helper()
	var all []got
	for _, offset := range offsets {
		m, err := s.next()
		if err != nil {
			t.Fatalf("message %d: %v", offset, err)
		}
		if m.offset != offset || m.payload != fmt.Sprint("m", offset) {
			t.Fatalf("%+v; want message %d", m, offset)
		}
		all = append(all, m)
	}
	return all
}

// A subscription begins where it is instructed to, at any API of any node, and each refusal has the same code.
func TestBeginningsAreAlike(t *testing.T) {
	c := newCluster(t)
	c.everywhere(t, func(t *testing.T, at caller, name string) {
		topic := topic(t, at, name, 3)
		between := time.Now()
		until(t, "a later millisecond", func() bool { return time.Since(between) > 2*time.Millisecond })
		publish(t, at, topic, 3, 2)
		for _, try := range []struct {
			from string
			want []uint64
		}{
			{"oldest", []uint64{0, 1, 2, 3, 4}},
			{"2", []uint64{2, 3, 4}},
			{between.Add(time.Millisecond).UTC().Format(time.RFC3339Nano), []uint64{3, 4}},
		} {
			s := at.subscribe(start{topic: topic, from: try.from})
			reads(t, s, try.want...)
			s.leave()
		}
		for _, try := range []struct {
			what string
			at   caller
			s    start
			code status.Code
		}{
			{"an unknown topic", at, start{topic: topic + "x", from: "oldest"}, status.NotFound},
			{"a bad name", at, start{topic: "a b"}, status.InvalidArgument},
			{"a bad group", at, start{topic: topic, group: "a b"}, status.InvalidArgument},
			{"the replay as a group", at, start{topic: topic, group: hermes.Replay}, status.InvalidArgument},
			{
				"too many in flight", at,
				start{topic: topic, group: "g", inFlight: hermes.GroupRanges + 1},
				status.InvalidArgument,
			},
			{"in flight without a group", at, start{topic: topic, inFlight: 1}, status.InvalidArgument},
			{"stranger", at.as(""), start{topic: topic}, status.Unauthenticated},
			{"no right", at.as("few"), start{topic: topic}, status.PermissionDenied},
		} {
			_, err := try.at.subscribe(try.s).next()
			is(t, try.what, err, try.code)
		}
	})
}

// A group's message that is not acknowledged in time, or given back, comes again, and
// after its attempts lies in the dead letters with the reason.
func TestGroupsAreAlike(t *testing.T) {
	c := newCluster(t)
	c.everywhere(t, func(t *testing.T, at caller, name string) {
		topic := topic(t, at, name, 3)
		ok(t, at, want{call: "makeGroup", topic: topic, group: "late", age: 200 * time.Millisecond, attempts: 1000})
		ok(t, at, want{call: "makeGroup", topic: topic, group: "g", age: time.Hour, attempts: 2})
		late := at.subscribe(start{topic: topic, group: "late", inFlight: 1})
		// An attempt may be over on a slow machine before its message has left the node.
		once := reads(t, late, 0)
		if again := reads(t, late, 0); again[0].attempt <= once[0].attempt || again[0].attempt < 2 {
			t.Errorf("what was not acknowledged comes as attempt %d after %d", again[0].attempt, once[0].attempt)
		}
		late.leave()

		s := at.subscribe(start{topic: topic, group: "g"})
		reads(t, s, 0, 1, 2)
		for _, settle := range []error{s.ack(false, 0, 2), s.ack(true, 1)} {
			if settle != nil {
				t.Fatal(settle)
			}
		}
		if again := reads(t, s, 1); again[0].attempt != 2 {
			t.Errorf("attempt %d; want 2", again[0].attempt)
		}
		if err := s.ack(true, 1); err != nil {
			t.Fatal(err)
		}
		until(t, "the dead letter", func() bool {
			return strings.HasPrefix(ok(t, at, want{call: "group", topic: topic, group: "g"}), "g floor 3 lag 0 dead 1")
		})
		letters := at.subscribe(start{topic: hermes.DeadLetters, from: "oldest"})
		for {
			m, err := letters.next()
			if err != nil {
				t.Fatal(err)
			}
			if m.headers[hermes.HeaderTopic] != topic {
				continue // another API's
			}
			if m.payload != "m1" || m.headers[hermes.HeaderReason] != "not today" ||
				m.headers[hermes.HeaderAttempts] != "2" ||
				m.headers[hermes.HeaderGroup] != "g" || m.headers[hermes.HeaderOffset] != "1" {
				t.Errorf("the dead letter is %+v", m)
			}
			break
		}
	})
}

// Two members of a group at two nodes share its messages: each comes to one of them.
func TestMembersOnTwoNodes(t *testing.T) {
	c := newCluster(t)
	for i, d := range apis {
		t.Run(d.name, func(t *testing.T) {
			own := *c
			own.T = t
			one, two := d.at(&own, c.members[0], "root"), d.at(&own, c.members[1], "root")
			topic := topic(t, one, "shared."+strconv.Itoa(i), 20)
			ok(t, one, want{call: "makeGroup", topic: topic, group: "g", age: time.Hour})
			members := []stream{
				one.subscribe(start{topic: topic, group: "g", inFlight: 10}),
				two.subscribe(start{topic: topic, group: "g", inFlight: 10}),
			}
			var hands [2][]uint64
			for i, s := range members {
				for range 10 { // as much as one may have in hand
					m, err := s.next()
					if err != nil {
						t.Fatal(err)
					}
					hands[i] = append(hands[i], m.offset)
				}
			}
			for i, s := range members {
				if err := s.ack(false, hands[i]...); err != nil {
					t.Fatal(err)
				}
			}
			all := slices.Concat(hands[0], hands[1])
			slices.Sort(all)
			if len(slices.Compact(all)) != 20 {
				t.Errorf("the members got %v; want each message once", all)
			}
			until(t, "the end", func() bool {
				return strings.HasPrefix(ok(t, two, want{call: "group", topic: topic, group: "g"}), "g floor 20 lag 0")
			})
		})
	}
}

// Only the node that delivers takes an acknowledgement. REST at another hands it on with the
// caller's token, GraphQL says so and where to go; with gRPC it goes back on its own stream.
func TestAckAtAnotherNode(t *testing.T) {
	c := newCluster(t)
	here, there := c.members[0], c.members[1]
	at := &restCaller{c, here, "root"}
	topic := topic(t, at, "acks", 2)
	s := at.subscribe(start{topic: topic, group: "g"}).(*restStream)
	reads(t, s, 0, 1)

	if _, err := (&restCaller{c, there, "root"}).settle(s.id, false, 0); err != nil {
		t.Errorf("REST at another node: %v", err)
	}
	until(t, "the acknowledgement that was handed on", func() bool {
		return strings.HasPrefix(ok(t, at, want{call: "group", topic: topic, group: "g"}), "g floor 1 ")
	})
	_, err := (&graphqlCaller{c, there, "root"}).settle(s.id, false, 1)
	is(t, "GraphQL at another node", err, status.Unavailable)
	if at := extensionOf(t, c, there.HTTP, s.id); at != here.HTTP {
		t.Errorf("extensions.node is %q; want %q", at, here.HTTP)
	}
	// APIs of one node take each other's.
	if _, err := (&graphqlCaller{c, here, "root"}).settle(s.id, false, 1); err != nil {
		t.Errorf("GraphQL at the node: %v", err)
	}
	for _, id := range []string{"1-stranger", "99-stranger", "x"} {
		_, err := (&restCaller{c, here, "root"}).settle(id, false, 0)
		is(t, "REST "+id, err, status.NotFound)
		_, err = (&graphqlCaller{c, here, "root"}).settle(id, false, 0)
		is(t, "GraphQL "+id, err, status.NotFound)
	}
}
