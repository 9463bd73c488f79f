package brokertest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// patience is how long a step of a test may take before it is taken to hang.
const patience = time.Minute

// suite is a test's view of one or several nodes of one broker.
type suite struct {
	*testing.T
	ctx   context.Context
	in    broker.Broker // where it publishes
	out   broker.Broker // where it subscribes and reads
	topic string
}

// Ahead is a feed that takes messages ahead of its reader, so that what its reader has not had counts as sent
// too. Tests of whatever is not sent are not for it.
type Ahead interface{ TakesAhead() }

// Run holds nodes of one broker to the contract of package broker. Each test publishes at one node and reads at
// another, in all pairs, on its own topics, so that the nodes may be used for other things too.
func Run(t *testing.T, nodes ...broker.Broker) {
	for i := range nodes {
		j := (i + 1) % len(nodes)
		t.Run(fmt.Sprintf("%d-%d", i+1, j+1), func(t *testing.T) { pair(t, nodes[i], nodes[j]) })
	}
}

func pair(t *testing.T, in, out broker.Broker) {
	for _, group := range []map[string]func(*suite){topicTests, publishTests, feedTests, groupTests, archiveTests} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				s := &suite{
					T: t, ctx: ctx, in: in, out: out,
					topic: strings.NewReplacer("/", "-", "#", "-").Replace(t.Name()),
				}
				if _, err := in.CreateTopic(ctx, broker.Topic{Name: s.topic}); err != nil {
					t.Fatal(err)
				}
				s.synced()
				test(s)
			})
		}
	}
}

// synced waits until the node that reads has seen what was acknowledged so far.
func (s *suite) synced() {
	s.Helper()
	if _, err := s.out.Topic(s.ctx, s.topic, true); err != nil {
		s.Fatal(err)
	}
}

// Messages is the wire form of messages with these payloads.
func Messages(payloads ...string) []byte {
	var b []byte
	for _, p := range payloads {
		b = record.AppendMessage(b, &hermes.Message{Payload: []byte(p)})
	}
	return b
}

// Payloads is what [Messages] was made of.
func Payloads(messages []byte) ([]string, error) {
	var all []string
	for raw := range record.Messages(messages) {
		var m hermes.Message
		if err := record.ReadMessage(raw, &m); err != nil {
			return nil, err
		}
		all = append(all, string(m.Payload))
	}
	return all, nil
}

// Publish publishes a run and waits for its verdict.
func Publish(ctx context.Context, b broker.Broker, run broker.Run) broker.Verdict {
	answered := make(chan broker.Verdict, 1)
	b.Publish(ctx, run, func(v broker.Verdict) { answered <- v })
	return <-answered // the publish answers when the context ends, if not before
}

func (s *suite) publish(payloads ...string) broker.Verdict {
	s.Helper()
	v := Publish(s.ctx, s.in, broker.Run{Topic: s.topic, Messages: Messages(payloads...), Count: len(payloads)})
	if v.Err != nil {
		s.Fatalf("publish %.40q: %v", payloads, v.Err)
	}
	return v
}

func (s *suite) subscribe(start broker.Start) broker.Feed {
	s.Helper()
	start.Topic = s.topic
	f, err := s.out.Subscribe(s.ctx, start)
	if err != nil {
		s.Fatalf("subscribe %+v: %v", start, err)
	}
	s.Cleanup(f.Close)
	return f
}

// got is one message of a feed.
type got struct {
	offset  uint64
	payload string
	attempt uint32
}

// take reads messages from a feed until it has n.
func (s *suite) take(f broker.Feed, n int) []got {
	s.Helper()
	var all []got
	for len(all) < n {
		b, err := f.Next(s.ctx, broker.Room{Bytes: 1 << 20})
		if err != nil {
			s.Fatalf("next after %d of %d messages: %v", len(all), n, err)
		}
		all = append(all, s.unpack(b)...)
	}
	if len(all) > n {
		s.Fatalf("%d messages where %d were to come: %.200s", len(all), n, fmt.Sprint(all))
	}
	return all
}

func (s *suite) unpack(b broker.Batch) []got {
	s.Helper()
	payloads, err := Payloads(b.Messages)
	if err != nil {
		s.Fatal(err)
	}
	if len(payloads) != b.Count || b.Count == 0 {
		s.Fatalf("a batch of %d messages says it has %d", len(payloads), b.Count)
	}
	all := make([]got, 0, b.Count)
	for i, p := range payloads {
		all = append(all, got{b.Offset + uint64(i), p, b.Attempt})
	}
	return all
}

// read reads the messages of a batch.
func (s *suite) read(b broker.Batch) []hermes.Message {
	s.Helper()
	var all []hermes.Message
	for raw := range record.Messages(b.Messages) {
		var m hermes.Message
		if err := record.ReadMessage(raw, &m); err != nil {
			s.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func (s *suite) same(what string, have, want any) {
	s.Helper()
	if h, w := fmt.Sprint(have), fmt.Sprint(want); h != w {
		s.Errorf("%s:\nhave %s\nwant %s", what, h, w)
	}
}

func (s *suite) refused(what string, err error, code status.Code) {
	s.Helper()
	switch {
	case err == nil:
		s.Errorf("%s: nothing was wrong; want %v", what, code)
	case status.CodeOf(err) != code:
		s.Errorf("%s: %v; want %v", what, err, code)
	}
}

// until asks again until the answer is yes. What it asks for is about to come true
// on another node or at another time, and nothing tells when.
func (s *suite) until(what string, ask func() bool) {
	s.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.Fatalf("%s never came true", what)
		}
	}
}

// nasty is payloads that a wire or a store may spoil. (hb-D28)
func nasty() []string {
	return []string{
		"", "\x00", "a\x00b", "\xff\xfe\xfd", "a+b & c%", "\U0001F600", strings.Repeat("x", 64<<10),
		string(bytes.Repeat([]byte{0x12, 0}, 100)),
	}
}
