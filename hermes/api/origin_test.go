package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/gen/origin"
)

// What the origin's benchmark and command line do, by the protocols that they do it by: they publish at any
// node, one or many or as a stream, and subscribe at any node, to what comes, to what was, or as a group that
// acknowledges each message. The leader stops in the middle: who reads for himself gets everything once and
// notices nothing; a group's reader is notified at once (hb-D20), comes again and gets everything, of which
// what it had in hand may come twice. (hb-F01 to hb-F04, hb-F10 to hb-F12, hb-F15, hb-F20, hb-F21, hb-F23,
// hb-F28, hb-F52)
func TestOriginsClients(t *testing.T) {
	c := newCluster(t)
	leader, others := c.leader()
	o := originClients{c, "old.news"}
	sent := map[string]bool{}
	send := func(at uint64, round string) {
		for name, publish := range o.publishers(c.members[at-1]) {
			ids := make([]string, 3)
			for i := range ids {
				ids[i] = fmt.Sprint(name, " at node ", at, ", ", round, " ", i)
				sent[ids[i]] = true
			}
			if err := publish(ids...); err != nil {
				t.Errorf("%s at node %d: %v", name, at, err)
			}
		}
	}
	send(leader, "first") // makes the topic
	before := maps.Clone(sent)
	// Those at the nodes that stay; the group's place is kept by the cluster.
	all := map[string]<-chan string{
		"group over gRPC":             o.overGRPC(c.members[others[0]-1], "workers"),
		"replay over gRPC":            o.overGRPC(c.members[others[1]-1], hermes.Replay),
		"group over SSE":              o.overSSE(c.members[others[1]-1], "readers"),
		"live over SSE":               o.overSSE(c.members[others[0]-1], ""),
		"group over GraphQL":          o.overGraphQL(c.members[others[0]-1], "askers"),
		"live over gRPC":              o.overGRPC(c.members[others[1]-1], ""),
		"replay over SSE":             o.overSSE(c.members[others[0]-1], hermes.Replay),
		"group over gRPC, the second": o.overGRPC(c.members[others[1]-1], "others"),
	}
	send(leader, "second")
	send(others[0], "second")
	c.halt(leader)
	c.leader()
	send(others[0], "third")
	send(others[1], "third")
	late, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, got := range all {
		want := maps.Clone(sent)
		if strings.HasPrefix(name, "live") {
			maps.DeleteFunc(want, func(id string, _ bool) bool { return before[id] })
		}
		times := map[string]int{}
		for len(want) > 0 {
			var id string
			select {
			case id = <-got: // closed where a subscriber failed, which is reported
			case <-late.Done():
			}
			if id == "" {
				break
			}
			delete(want, id)
			if times[id]++; !sent[id] || times[id] > 1 && !strings.HasPrefix(name, "group") {
				t.Errorf("%s gets %q, %d times", name, id, times[id])
			}
		}
		if len(want) > 0 {
			t.Errorf("%s lacks %q", name, slices.Sorted(maps.Keys(want)))
		}
	}
}

// originClients are the origin's clients of one topic.
type originClients struct {
	c     *cluster
	topic string
}

// publishers are the ways to publish at a node.
func (o originClients) publishers(at broker.Member) map[string]func(payloads ...string) error {
	g := newGRPC(o.c, at, "root")
	old := origin.NewBrokerServiceClient(g.conn)
	done := func(r *origin.PublishResponse, err error) error {
		if err == nil && !r.GetSuccess() {
			err = errors.New("no success")
		}
		return err
	}
	bytesOf := func(payloads []string) (all [][]byte) {
		for _, p := range payloads {
			all = append(all, []byte(p))
		}
		return all
	}
	return map[string]func(...string) error{
		"Publish": func(payloads ...string) (err error) {
			for i, p := range bytesOf(payloads) {
				mode := []origin.DeliveryMode{origin.DeliveryMode_CONSISTENT, origin.DeliveryMode_EVENTUAL}[i%2]
				err = errors.Join(err, done(old.Publish(g.context(), &origin.PublishRequest{
					Topic: o.topic, Payload: p,
					Mode: mode,
				})))
			}
			return err
		},
		"PublishBatch": func(payloads ...string) error {
			return done(old.PublishBatch(g.context(),
				&origin.PublishBatchRequest{Topic: o.topic, Payloads: bytesOf(payloads)}))
		},
		"PublishStream": func(payloads ...string) error {
			s, err := old.PublishStream(g.context())
			for i := 0; err == nil && i < len(payloads); i++ {
				err = s.Send(&origin.PublishRequest{Topic: o.topic, Payload: []byte(payloads[i])})
			}
			if err != nil {
				return err
			}
			r, err := s.CloseAndRecv()
			if err == nil && (r.GetProcessedCount() != int64(len(payloads)) || r.GetFailedCount() != 0) {
				err = fmt.Errorf("%v", r)
			}
			return err
		},
		"POST /publish": func(payloads ...string) (err error) {
			for _, p := range payloads {
				err = errors.Join(err, o.post(at, "/publish", object{"topic": o.topic, "payload": p}, `"success":true`))
			}
			return err
		},
		"POST /publish/batch": func(payloads ...string) error {
			return o.post(at, "/publish/batch", object{"topic": o.topic, "payloads": payloads}, `"success":true`)
		},
		"mutation publish": func(payloads ...string) (err error) {
			for _, p := range payloads {
				err = errors.Join(err, o.post(at, "/query", object{
					"query":     `mutation($t: String!, $p: String!) { publish(topic: $t, payload: $p) { success } }`,
					"variables": object{"t": o.topic, "p": p},
				}, `"success":true`))
			}
			return err
		},
		"mutation publishBatch": func(payloads ...string) error {
			return o.post(at, "/query", object{
				"query":     `mutation($t: String!, $p: [String!]!) { publishBatch(topic: $t, payloads: $p) { success } }`,
				"variables": object{"t": o.topic, "p": payloads},
			}, `"success":true`)
		},
	}
}

// post asks a node and wants its reply to hold something.
func (o originClients) post(at broker.Member, path string, body object, want string) error {
	ctx, cancel := context.WithTimeout(o.c.Context(), patience)
	defer cancel()
	w, err := o.c.send(ctx, "root", http.MethodPost, "http://"+at.HTTP+path, body)
	if err != nil {
		return err
	}
	defer func() { _ = w.Body.Close() }()
	var reply json.RawMessage
	if err := json.NewDecoder(w.Body).Decode(&reply); err != nil || w.StatusCode != http.StatusOK ||
		!strings.Contains(string(reply), want) {
		return fmt.Errorf("status %d, %s, %w", w.StatusCode, reply, err)
	}
	return nil
}

// reader reads the payloads of one subscription.
type reader struct {
	next func() (string, error)
	end  func()
}

// follow reads until the test ends. Who reads as a group subscribes anew when he learns that the leader went.
func (o originClients) follow(group string, subscribe func() reader) <-chan string {
	got := make(chan string)
	// Asked of the test's own context: calls were made of it, and one that was made of it later may
	// end after them.
	over := o.c.Context()
	at := subscribe()
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(got)
		defer func() { at.end() }()
		for {
			payload, err := at.next()
			switch {
			case over.Err() != nil:
				return
			case err == nil:
				select {
				case got <- payload:
				case <-over.Done():
				}
			case group == "" || group == hermes.Replay:
				o.c.Errorf("a subscriber: %v", err)
				return
			default:
				at.end()
				at = subscribe()
			}
		}
	})
	o.c.Cleanup(reading.Wait)
	return got
}

func (o originClients) overGRPC(at broker.Member, group string) <-chan string {
	g := newGRPC(o.c, at, "root")
	return o.follow(group, func() reader {
		ctx, cancel := context.WithTimeout(g.context(), patience)
		call, err := origin.NewBrokerServiceClient(g.conn).Subscribe(ctx)
		if err == nil {
			err = call.Send(&origin.SubscribeRequest{Action: "SUBSCRIBE", Topic: o.topic, GroupId: group})
		}
		if err == nil {
			_, err = call.Header() // it is registered
		}
		return reader{end: cancel, next: func() (string, error) {
			if err != nil {
				return "", err
			}
			m, err := call.Recv()
			if err != nil {
				return "", err
			}
			return string(m.GetPayload()), call.Send(&origin.SubscribeRequest{Action: "ACK", AckMessageId: m.GetId()})
		}}
	})
}

func (o originClients) overSSE(at broker.Member, group string) <-chan string {
	return o.follow(group, func() reader {
		s := (&restCaller{o.c, at, "root"}).follow("/subscribe?"+url.Values{
			"topic": {o.topic},
			"group": {group},
		}.Encode(),
			"")
		return reader{end: s.leave, next: func() (string, error) {
			name, text := s.read()
			var m struct{ Payload string }
			if s.err == nil && name != "" {
				s.err = fmt.Errorf("%s: %s", name, text) // why it ends
			}
			if s.err == nil {
				s.err = json.Unmarshal([]byte(text), &m)
			}
			return m.Payload, s.err
		}}
	})
}

func (o originClients) overGraphQL(at broker.Member, group string) <-chan string {
	return o.follow(group, func() reader {
		s := (&graphqlCaller{o.c, at, "root"}).follow("/query",
			`subscription($t: String!, $g: String) { it: subscribe(topic: $t, groupId: $g) { payload } }`,
			object{"t": o.topic, "g": group})
		return reader{end: s.leave, next: func() (string, error) {
			v, err := s.item()
			if err != nil {
				return "", err
			}
			return *v.Payload, nil
		}}
	})
}
