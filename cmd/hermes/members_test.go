package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/wire/sse"
)

// crowd is a cluster whose topic t has numbered messages, and a client of it. The members of its groups are
// served by a node that does not lead, which asks the one that does.
type crowd struct {
	*testing.T
	ctx    context.Context
	l      *lasting
	at     map[string]string // of the node that serves the members
	served running
	c      *client.Client
	n      int
}

func gather(t *testing.T, n int) *crowd {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Setenv(playHermes, "yes")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	k := &crowd{T: t, ctx: ctx, l: start(t, 3, "cluster", "--nodes", "3", "--log-level", "error"), n: n}
	must(t, k.l.at(), "", "cluster", "transfer", "1")
	k.served = k.l.nodes[1]
	k.at = map[string]string{serverVariable: k.served.GRPC}
	c, err := client.New(client.Options{Addresses: []string{k.served.GRPC}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // what failed has been told
	k.c = c
	if _, err := c.CreateTopic(ctx, broker.Topic{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		m := &hermes.Message{Payload: []byte(strconv.Itoa(i))}
		err := c.Send(ctx, "t", hermes.Consistent, m, func(r client.Receipt, err error) {
			if err != nil || r.Offset != uint64(i) {
				t.Errorf("message %d is at %d: %v", i, r.Offset, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	return k
}

// group is a group's state, once all its members have left.
func (k *crowd) group(name string) broker.Group {
	k.Helper()
	for {
		g, err := k.c.Group(k.ctx, "t", name)
		if err != nil {
			k.Fatal(err)
		}
		if g.Members == 0 {
			return g
		}
	}
}

// A member that takes one message and goes, five times and once more: nothing that was not handled becomes a
// dead letter, each member gets the next message in order, and in the end each is handled. By the command, over
// server-sent events, GraphQL and the client.
func TestMembersThatComeAndGo(t *testing.T) {
	k := gather(t, 1100)
	for way, one := range map[string]func(group string) string{
		"command": func(group string) string {
			return strings.TrimSuffix(must(k.T, k.at, "", "sub", "t", "--group", group, "--count", "1"), "\n")
		},
		"events":  k.oneOverREST,
		"graphql": k.oneOverGraphQL,
		"client":  k.oneByClient,
	} {
		for visit := range 6 {
			if got := one(way); got != strconv.Itoa(visit) {
				t.Errorf("%s: visit %d gets message %s", way, visit, got)
			}
			if g := k.group(way); g.Dead != 0 || g.Floor != uint64(visit)+1 {
				t.Fatalf("%s: after visit %d the group is at %d with %d dead letters", way, visit, g.Floor, g.Dead)
			}
		}
		k.drain(way, map[string]bool{"0": true, "1": true, "2": true, "3": true, "4": true, "5": true})
	}
}

// drain takes all that is left, and wants every message handled by then.
func (k *crowd) drain(group string, handled map[string]bool) {
	k.Helper()
	s, err := k.c.Subscribe(k.ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: group})
	if err != nil {
		k.Fatal(err)
	}
	for {
		// What a member that is gone acknowledged last may only be stored now: then less comes than was left.
		short, cancel := context.WithTimeout(k.ctx, 50*time.Millisecond)
		m, err := s.Next(short)
		cancel()
		switch {
		case k.ctx.Err() != nil || err != nil && short.Err() == nil:
			k.Fatalf("%s: with %d handled and %d left: %v", group, len(handled), k.state(group).Lag, err)
		case err != nil && k.state(group).Lag == 0:
			k.settled(s, group, handled)
			return
		case err != nil:
			continue
		}
		handled[string(m.Payload)] = true
		if err := s.Ack(k.ctx, broker.Range{First: m.Offset, Last: m.Offset}); err != nil {
			k.Fatal(err)
		}
	}
}

// settled closes the last member of a group, which has handled everything.
func (k *crowd) settled(s *client.Subscription, group string, handled map[string]bool) {
	k.Helper()
	if err := s.Close(k.ctx); err != nil {
		k.Error(err)
	}
	for i := range k.n {
		if !handled[strconv.Itoa(i)] {
			k.Fatalf("%s: message %d was not handled", group, i)
		}
	}
	if g := k.group(group); g.Dead != 0 || g.Lag != 0 {
		k.Fatalf("%s: %d dead letters, %d messages behind", group, g.Dead, g.Lag)
	}
}

func (k *crowd) state(group string) broker.Group {
	k.Helper()
	g, err := k.c.Group(k.ctx, "t", group)
	if err != nil {
		k.Fatal(err)
	}
	return g
}

// oneByClient takes one message with a client that asks for many ahead, acknowledges it and leaves.
func (k *crowd) oneByClient(group string) string {
	k.Helper()
	s, err := k.c.Subscribe(k.ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: group})
	if err != nil {
		k.Fatal(err)
	}
	m, err := s.Next(k.ctx)
	if err != nil {
		k.Fatal(err)
	}
	if err := s.Ack(k.ctx, broker.Range{First: m.Offset, Last: m.Offset}); err != nil {
		k.Fatal(err)
	}
	if err := s.Close(k.ctx); err != nil {
		k.Fatal(err)
	}
	return string(m.Payload)
}

// post asks the node that serves the members; the reply is the caller's to close.
func (k *crowd) post(ctx context.Context, method, path string, body any) *http.Response {
	k.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		k.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+k.served.HTTP+path, bytes.NewReader(text))
	if err != nil {
		k.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodGet || strings.Contains(string(text), "subscription(") {
		r.Header.Set("Accept", "text/event-stream")
	}
	w, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		k.Fatal(err)
	}
	if w.StatusCode >= 300 {
		said, _ := io.ReadAll(w.Body) // as far as it comes
		k.Fatalf("%s %s: %s: %s", method, path, w.Status, said)
	}
	return w
}

type object = map[string]any

func (k *crowd) oneOverREST(group string) string {
	k.Helper()
	ctx, leave := context.WithCancel(k.ctx)
	defer leave()
	w := k.post(ctx, http.MethodGet, "/v1/topics/t/events?group="+group, nil)
	defer w.Body.Close()
	events := sse.NewReader(w.Body)
	var id string
	for {
		e, err := events.Next()
		if err != nil {
			k.Fatal(err)
		}
		var got struct {
			Subscription, Payload string
			Offset                uint64
		}
		if err := json.Unmarshal(e.Data, &got); err != nil {
			k.Fatalf("%s: %v", e.Data, err)
		}
		if got.Subscription != "" {
			id = got.Subscription
			continue
		}
		ack := object{"ranges": []object{{"first": got.Offset, "last": got.Offset}}}
		_ = k.post(k.ctx, http.MethodPost, "/v1/subscriptions/"+id+"/ack", ack).Body.Close()
		return got.Payload
	}
}

func (k *crowd) oneOverGraphQL(group string) string {
	k.Helper()
	ctx, leave := context.WithCancel(k.ctx)
	defer leave()
	ask := object{
		"query":     `subscription($g: String!){ messages(topic: "t", group: $g) { subscription offset payload } }`,
		"variables": object{"g": group},
	}
	w := k.post(ctx, http.MethodPost, "/graphql", ask)
	defer w.Body.Close()
	e, err := sse.NewReader(w.Body).Next()
	if err != nil {
		k.Fatal(err)
	}
	var got struct {
		Data struct {
			Messages struct {
				Subscription, Payload string
				Offset                uint64
			}
		}
	}
	if err := json.Unmarshal(e.Data, &got); err != nil || got.Data.Messages.Subscription == "" {
		k.Fatalf("%s: %v", e.Data, err)
	}
	m := got.Data.Messages
	done := k.post(k.ctx, http.MethodPost, "/graphql", object{
		"query":     `mutation($s: ID!, $o: Uint64!){ ack(subscription: $s, ranges: [{first: $o, last: $o}]) }`,
		"variables": object{"s": m.Subscription, "o": m.Offset},
	})
	defer done.Body.Close()
	if said, err := io.ReadAll(done.Body); err != nil || string(said) != `{"data":{"ack":true}}` {
		k.Fatalf("ack says %s, %v", said, err)
	}
	return m.Payload
}

// Members that are killed with -9, fifty times, after any number of messages: no message is lost, and none that
// someone could handle is a dead letter.
func TestKilledMembers(t *testing.T) {
	k := gather(t, 20_000)
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	handled := map[string]bool{}
	want := broker.Group{Topic: "t", Name: "killed"}
	if _, err := k.c.CreateGroup(k.ctx, want, broker.Start{From: broker.FromOldest}); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		count := random.IntN(40) // a member takes more than it is read from, up to what a pipe holds
		if at := k.state("killed"); at.Lag < 1000 {
			t.Fatalf("%d messages are left: too few for fifty members", at.Lag)
		}
		for _, payload := range k.killed("killed", count) {
			handled[payload] = true
		}
	}
	if g := k.group("killed"); g.Dead != 0 {
		t.Fatalf("%d dead letters after 50 members were killed", g.Dead)
	}
	k.drain("killed", handled)
}

// killed runs a member as a separate process, and kills it when it has printed so many messages. It returns
// what was printed.
func (k *crowd) killed(group string, count int) (printed []string) {
	k.Helper()
	member := exec.CommandContext(k.ctx, os.Args[0], "sub", "t", "--group", group) //nolint:gosec // it is this program
	member.Env = append(os.Environ(), playHermes+"=yes", serverVariable+"="+k.served.GRPC)
	out, err := member.StdoutPipe()
	if err != nil {
		k.Fatal(err)
	}
	if err := member.Start(); err != nil {
		k.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for len(printed) < count && lines.Scan() {
		printed = append(printed, lines.Text())
	}
	if err := member.Process.Kill(); err != nil {
		k.Error(err)
	}
	for lines.Scan() { // what it printed before it was dead
		printed = append(printed, lines.Text())
	}
	if err := member.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		k.Errorf("the member ended by itself: %v", err)
	}
	return printed
}

// A member that needs longer for all that it has than the time to acknowledge, and never longer for one: each
// acknowledgement that was settled is in the group's state. With one message at a time, and with all that it can have.
func TestSlowMember(t *testing.T) {
	k := gather(t, 100)
	for inFlight, pause := range map[int]time.Duration{1: 50 * time.Millisecond, 100: 25 * time.Millisecond} {
		name := fmt.Sprintf("slow-%d", inFlight)
		want := broker.Group{Topic: "t", Name: name, AckTimeout: int64(time.Second), MaxAttempts: 2}
		if _, err := k.c.CreateGroup(k.ctx, want, broker.Start{From: broker.FromOldest}); err != nil {
			t.Fatal(err)
		}
		s, err := k.c.Subscribe(k.ctx,
			broker.Start{Topic: "t", From: broker.FromGroup, Group: name, InFlight: inFlight})
		if err != nil {
			t.Fatal(err)
		}
		handled := map[uint64]bool{}
		for len(handled) < k.n {
			m, err := s.Next(k.ctx)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(pause) // the work
			if err := s.Ack(k.ctx, broker.Range{First: m.Offset, Last: m.Offset}); err != nil {
				t.Fatal(err)
			}
			if err := s.Settle(k.ctx); err != nil {
				t.Fatal(err)
			}
			handled[m.Offset] = true
			if len(handled) == 40 {
				if g := k.state(name); g.Floor != 40 {
					t.Errorf("%d in flight: 40 acknowledgements were settled, and the floor is %d", inFlight, g.Floor)
				}
			}
		}
		if err := s.Close(k.ctx); err != nil {
			t.Error(err)
		}
		if g := k.group(name); g.Floor != uint64(k.n) || g.Dead != 0 {
			t.Errorf("%d in flight: the floor is %d, with %d dead letters", inFlight, g.Floor, g.Dead)
		}
	}
}
