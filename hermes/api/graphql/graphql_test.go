package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"wirelab/hermes/api/graphql"
	"wirelab/hermes/broker"
	"wirelab/wire/sse"
	"wirelab/wire/status"
)

// Publishing, in every mode and again, and refusals.
func TestPublish(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const publish = `mutation($m:[MessageInput!]!,$o:Mode! =CONSISTENT,$p:ID,$q:Uint64){publish(topic:"t",messages:$m,mode:$o,producer:$p,sequence:$q){count offset duplicate provisional}}`
	one := []map[string]any{{"payload": "a"}}
	s.want(s.ask("/graphql", publish, "m", one), "not_found: ")
	s.want(s.ask("/graphql", `mutation{createTopic(name:"t",retentionAge:"1h"){name retentionAge next}}`),
		`{"createTopic":{"name":"t","retentionAge":"1h0m0s","next":0}}`)
	s.want(s.ask("/graphql", publish, "m", one),
		`{"publish":{"count":1,"offset":0,"duplicate":false,"provisional":false}}`)
	s.want(s.ask("/graphql", publish, "m", one, "o", "EVENTUAL"),
		`{"publish":{"count":1,"offset":null,"duplicate":false,"provisional":true}}`)
	s.want(s.ask("/graphql", publish, "m", one, "o", "PERFORMANCE"),
		`{"publish":{"count":1,"offset":null,"duplicate":false,"provisional":false}}`)
	var opened struct{ OpenProducer string }
	if err := json.Unmarshal([]byte(s.ask("/graphql", `mutation{openProducer}`)), &opened); err != nil {
		t.Fatal(err)
	}
	for _, duplicate := range []bool{false, true} {
		s.want(s.ask("/graphql", publish, "m", []map[string]any{{"payloadBase64": "/w=="}, {
			"payload": "", "key": "k",
			"headers": []map[string]any{{"name": "n", "valueBase64": "AA=="}},
		}}, "p", opened.OpenProducer, "q", 1),
			fmt.Sprintf(`{"publish":{"count":2,"offset":2,"duplicate":%v,`, duplicate))
	}
	for why, variables := range map[string][]any{
		"a sequence alone": {"m", one, "q", 1}, "a producer alone": {"m", one, "p", "1"},
		"sequence 0": {
			"m", one, "p", "1",
			"q", 0,
		}, "an id that is none": {"m", one, "p", "x", "q", 1},
		"no payload":   {"m", []map[string]any{{"key": "k"}}},
		"two payloads": {"m", []map[string]any{{"payload": "", "payloadBase64": ""}}},
		"no base64":    {"m", []map[string]any{{"payloadBase64": "?"}}},
		"no messages":  {"m", []any{}}, "another mode": {"m", one, "o", "BEST"}, "an unknown field": {
			"m", []map[string]any{{"payload": "", "ttl": 1}},
		},
	} {
		if got := s.ask("/graphql", publish, variables...); !strings.HasPrefix(got, "invalid_argument: ") {
			t.Errorf("%s: %s", why, got)
		}
	}
	s.want(s.ask("/graphql", publish, "m", []map[string]any{{"payload": strings.Repeat("x", 1<<20+1)}}),
		"invalid_argument: ")
	s.memory.Lead(false)
	s.want(s.ask("/graphql", publish, "m", one), "unavailable: ")
	s.want(s.ask("/graphql", `{cluster{unready}}`), `{"cluster":{"unready":"this node knows no leader"}}`)
}

// Topics, groups and the cluster.
func TestAdministration(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, c := range [][2]string{
		{
			`mutation{a:createTopic(name:"a"){name} b:createTopic(name:"b",retentionBytes:5){retentionBytes}}`,
			`{"a":{"name":"a"},"b":{"retentionBytes":5}}`,
		},
		{`mutation{createTopic(name:"b"){name}}`, "conflict: "},
		{
			`mutation{configureTopic(name:"b",retentionAge:"5s"){retentionAge retentionBytes}}`,
			`{"configureTopic":{"retentionAge":"5s","retentionBytes":null}}`,
		},
		{`mutation{createGroup(topic:"a",name:"g",ackTimeout:"2s",maxAttempts:3){topic name ackTimeout maxAttempts floor lag acked{first last}}}`, `{"createGroup":{"topic":"a","name":"g","ackTimeout":"2s","maxAttempts":3,"floor":0,"lag":0,"acked":[]}}`},
		{
			`{topics(limit:2){name groups{name}}}`,
			`{"topics":[{"name":"a","groups":[{"name":"g"}]},{"name":"b","groups":[]}]}`,
		},
		{`{topics(after:"a",prefix:"b"){name}}`, `{"topics":[{"name":"b"}]}`},
		{`{topic(name:"a",linearizable:true){name first next subscribers} group(topic:"a",name:"g"){dead members inFlight redelivered}}`, `{"topic":{"name":"a","first":0,"next":0,"subscribers":0},"group":{"dead":0,`},
		{`mutation{seekGroup(topic:"a",name:"g",from:"tail"){floor}}`, `{"seekGroup":{"floor":0}}`},
		{`mutation{deleteGroup(topic:"a",name:"g") deleteTopic(name:"a")}`, `{"deleteGroup":true,"deleteTopic":true}`},
		{`{cluster{unready}}`, `{"cluster":{"unready":null}}`},
		{
			`{cluster{node leader term members{id name peer grpc http learner leader reached}}}`,
			`{"cluster":{"node":"1","leader":"1","term":1,"members":[{"id":"1","name":"memory",`,
		},
		{
			`mutation{promote(id:"1"){node} transferLeadership(to:"1"){node}}`,
			`{"promote":{"node":"1"},"transferLeadership":{"node":"1"}}`,
		},
		{`mutation{join(id:"2",peer:"a:1"){node}}`, "unimplemented: "},
		{`mutation{join(id:"2",peer:""){node}}`, "invalid_argument: "},
		{`mutation{remove(id:"7"){node}}`, "not_found: "},
		{`mutation{remove(id:"0"){node}}`, "invalid_argument: "},
		{`{topic(name:"none"){name}}`, "not_found: "},
		{`{topic(name:"a\u0000b"){name}}`, "invalid_argument: "}, // hb-D27
		{`{topics(limit:0){name}}`, `{"topics":[`},
		{`{topics(limit:-1){name}}`, "invalid_argument: "},
		{`{topics(limit:1001){name}}`, "invalid_argument: "},
		{`{group(topic:"a",name:"__REPLAY__"){name}}`, "invalid_argument: "},
		{`mutation{createTopic(name:"c",retentionAge:"-1s"){name}}`, "invalid_argument: "},
		{`mutation{createGroup(topic:"b",name:"g",from:"middle"){name}}`, "invalid_argument: "},
		{`mutation{createGroup(topic:"b",name:"g",maxAttempts:-1){name}}`, "invalid_argument: "},
		{`mutation{ack(subscription:"1-x",ranges:[{first:0,last:0}])}`, "not_found: "},
		{`mutation{ack(subscription:"1-x",ranges:[{first:1,last:0}])}`, "invalid_argument: "},
		{`mutation{nack(subscription:"1-x",ranges:[])}`, "invalid_argument: "},
		{
			`{` + strings.Repeat(`topic(name:"a"){groups{topic `, 40) + strings.Repeat(`}}`, 40) + `}`,
			"invalid_argument: ",
		},
		{`{` + strings.Repeat(" a:cluster{node}", 301) + `}`, "invalid_argument: "},
		{`{` + func() (all string) {
			for i := range 25 {
				all += fmt.Sprintf(" a%d:topics(limit:1000){name groups{name}}", i)
			}
			return all
		}() + `}`, "invalid_argument: "},
		{`subscription{messages(topic:"b"){offset}}`, "invalid_argument: a subscription needs"},
	} {
		s.want(s.ask("/graphql", c[0]), c[1])
	}
}

// Who asks in a way that is not taken is notified of the path that he asked.
func TestWrongMethodNamesThePath(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, path := range []string{graphql.Path, graphql.OriginPath} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+s.address+path+"?query=%7Bhealth%7D", nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(w.Body)
		_ = w.Body.Close()
		if want := path + " takes POST, not GET"; err != nil || w.StatusCode != http.StatusMethodNotAllowed ||
			!strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %s, %v; want %s", path, w.Status, text, err, want)
		}
	}
}

// The origin's clients ask as they did, and get the truth.
func TestOrigin(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.want(s.ask("/query", `{health}`), `{"health":"ok"}`)
	s.want(s.ask("/query", `mutation{publish(topic:"t",payload:"GQL-1"){success}}`), `{"publish":{"success":true}}`)
	s.want(s.ask("/query", `mutation{publish(topic:"t",payload:"x",mode:EVENTUAL){success}}`),
		`{"publish":{"success":true}}`)
	s.want(s.ask("/query", `mutation{publishBatch(topic:"t",payloads:["a","b"],mode:CONSISTENT){success}}`),
		`{"publishBatch":{"success":true}}`)
	for _, query := range []string{
		`mutation{publish(topic:"t",payload:""){success}}`, `mutation{publish(topic:"",payload:"x"){success}}`,
		`mutation{publishBatch(topic:"t",payloads:[]){success}}`,
		`mutation{publish(topic:"t",payload:"x",mode:BEST){success}}`,
	} {
		s.want(s.ask("/query", query), "invalid_argument: ")
	}
	all := s.open("/query")
	all.subscribe("1",
		`subscription{subscribe(topic:"t",groupId:"__REPLAY__"){id topic payload payloadBase64 timestamp}}`)
	s.want(all.next(),
		`{"id":"1","type":"next","payload":{"data":{"subscribe":{"id":"t/0","topic":"t","payload":"GQL-1","payloadBase64":null,"timestamp":`)
	for range 3 {
		all.next()
	}
	s.want(s.ask("/graphql", `mutation{publish(topic:"t",messages:[{payloadBase64:"/w=="}]){count}}`),
		`{"publish":{"count":1}}`)
	// hb-D28.
	s.want(all.next(),
		`{"id":"1","type":"next","payload":{"data":{"subscribe":{"id":"t/4","topic":"t","payload":"","payloadBase64":"/w==",`)
	s.memory.Lead(false)
	s.want(s.ask("/query", `{health}`), "unavailable: ")
	s.want(s.ask("/query", `mutation{publishBatch(topic:"t",payloads:["a"]){success}}`), "unavailable: ") // hb-D16
}

// A mode reaches the broker whichever schema it comes by (hb-M11).
func TestModes(t *testing.T) {
	t.Parallel()
	runs := make(chan broker.Run, 1)
	s := start(t, &scripted{Broker: memory(t), publish: func(_ context.Context, run broker.Run,
		done func(broker.Verdict),
	) {
		runs <- run
		done(broker.Verdict{Count: 1})
	}})
	for i, mode := range []string{"CONSISTENT", "EVENTUAL", "PERFORMANCE"} {
		for path, query := range map[string]string{
			"/query":   `mutation{publish(topic:"t",payload:"x",mode:%s){success}}`,
			"/graphql": `mutation{publish(topic:"t",messages:[{payload:"x"}],mode:%s){count}}`,
		} {
			s.want(s.ask(path, fmt.Sprintf(query, mode)), `{"publish":`)
			if run := <-runs; int(run.Mode) != i || run.Count != 1 {
				t.Errorf("%s %s: %+v", path, mode, run)
			}
		}
	}
}

// A group's messages come over a WebSocket, and are acknowledged by either API.
func TestGroup(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.ask("/graphql", `mutation{createTopic(name:"t"){name}}`)
	s.want(s.ask("/graphql",
		`mutation{publish(topic:"t",messages:[{payload:"a",key:"k",headers:[{name:"n",value:"v"}]},{payload:"b"},{payload:"c"}]){offset}}`), `{"publish":{"offset":0}}`)
	k := s.open("/graphql")
	k.subscribe("x",
		`subscription{messages(topic:"t",group:"g",inFlight:3){subscription topic offset attempt payload key headers{name value}}}`)
	var id string
	for i, want := range []string{
		`"offset":0,"attempt":1,"payload":"a","key":"k","headers":[{"name":"n","value":"v"}]`,
		`"offset":1,"attempt":1,"payload":"b"`, `"offset":2,`,
	} {
		got := k.next()
		if !strings.Contains(got, want) {
			t.Errorf("message %d: %s", i, got)
		}
		_, id, _ = strings.Cut(got, `"subscription":"`)
		id, _, _ = strings.Cut(id, `"`)
	}
	s.want(s.ask("/graphql", `mutation($s:ID!){ack(subscription:$s,ranges:[{first:0,last:0}])}`, "s", id),
		`{"ack":true}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+s.address+"/v1/subscriptions/"+id+"/ack",
		strings.NewReader(`{"ranges":[{"first":1,"last":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	w, err := s.client.Do(r)
	if err != nil || w.StatusCode != http.StatusNoContent {
		t.Fatalf("the other door: %v %v", w, err)
	}
	w.Body.Close()
	s.want(s.ask("/graphql", `{group(topic:"t",name:"g"){floor}}`), `{"group":{"floor":2}}`)
	s.want(s.ask("/graphql", `mutation($s:ID!){nack(subscription:$s,ranges:[{first:2,last:2}],reason:"no")}`, "s", id),
		`{"nack":true}`)
	if got := k.next(); !strings.Contains(got, `"offset":2,"attempt":2`) {
		t.Errorf("what was given back: %s", got)
	}
	// The subscriber ends it; its id is over then.
	k.send(`{"id":"x","type":"complete"}`)
	k.subscribe("y", `subscription{messages(topic:"t",group:"g",inFlight:3){subscription offset attempt}}`)
	if got := k.next(); !strings.Contains(got, `"offset":2,"attempt":3`) {
		t.Errorf("what the first did not acknowledge: %s", got)
	}
	s.want(s.ask("/graphql", `mutation($s:ID!){ack(subscription:$s,ranges:[{first:0,last:0}])}`, "s", id),
		"not_found: ")
}

// What was written is acknowledged by itself where the subscriber wants it (hb-D29).
func TestAutomaticAcks(t *testing.T) {
	t.Parallel()
	for path, query := range map[string]string{
		"/graphql": `subscription{messages(topic:"t",group:"g",autoAck:true){offset}}`,
		"/query":   `subscription{subscribe(topic:"t",groupId:"g"){id}}`,
	} {
		// Each has its own feed: the first one's reader may be there for a moment after its connection.
		acked := make(chan []broker.Range, 8)
		f := &feed{batches: make(chan broker.Batch, 8), acked: acked}
		s := start(t, &scripted{Broker: memory(t), subscribe: func(context.Context, broker.Start) (broker.Feed, error) {
			return f, nil
		}})
		k := s.open(path)
		k.subscribe("1", query)
		f.batches <- batch(5, "a", "b")
		k.next()
		k.next()
		for next := uint64(5); next < 7; {
			for _, r := range <-acked {
				if r.First != next {
					t.Errorf("%s: %v is acknowledged; %d was to be next", path, r, next)
				}
				next = r.Last + 1
			}
		}
		_ = k.conn.CloseNow()
	}
}

// An acknowledgement of which a part came too late says which, and the subscription continues, also where the
// API acknowledges by itself.
func TestLateAck(t *testing.T) {
	t.Parallel()
	f := &feed{batches: make(chan broker.Batch, 8), late: []broker.Range{{First: 3, Last: 5}, {First: 7, Last: 7}}}
	s := start(t, &scripted{Broker: memory(t), subscribe: func(context.Context, broker.Start) (broker.Feed, error) {
		return f, nil
	}})
	k := s.open("/graphql")
	k.subscribe("1", `subscription{messages(topic:"t",group:"g",autoAck:true){subscription}}`)
	var id string
	for at := range uint64(3) {
		f.batches <- batch(at, "a")
		text := k.next()
		_, rest, _ := strings.Cut(text, `"subscription":"`)
		var found bool
		if id, _, found = strings.Cut(rest, `"`); !found {
			t.Fatalf("%s", text)
		}
	}
	got := s.ask("/graphql", `mutation($s:ID!){ack(subscription:$s,ranges:[{first:3,last:8}])}`, "s", id)
	s.want(got, "conflict: the acknowledgement of 4 messages, from offset 3 on, came too late")
	raw := s.raw("/graphql", `mutation($s:ID!){ack(subscription:$s,ranges:[{first:3,last:8}])}`, "s", id)
	if !strings.Contains(raw, `"late":"3-5,7-7"`) {
		t.Errorf("%s", raw)
	}
	_ = k.conn.CloseNow()
}

// Streams over server-sent events come as over WebSockets.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.ask("/graphql", `mutation{createTopic(name:"t"){name} publish(topic:"t",messages:[{payload:"a"}]){count}}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+"/graphql",
		strings.NewReader(string(body(`subscription{messages(topic:"t",from:"oldest"){payload}}`))))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	w, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	events := sse.NewReader(w.Body)
	if e, err := events.Next(); err != nil || string(e.Data) != `{"data":{"messages":{"payload":"a"}}}` {
		t.Errorf("%s %s, %v", e.Name, e.Data, err)
	}
	s.want(s.ask("/graphql", `mutation{deleteTopic(name:"t")}`), `{"deleteTopic":true}`)
	if e, err := events.Next(); err != nil || !strings.HasPrefix(reply(t, e.Data), "not_found: ") {
		t.Errorf("%s %s, %v", e.Name, e.Data, err)
	}
}

// Who subscribes to a topic where nothing happens is notified at once that the subscription stands, and from
// time to time that it still does (hb-D29).
func TestQuietEvents(t *testing.T) {
	t.Parallel()
	for heartbeat, quiet := range map[time.Duration]string{time.Hour: "", 50 * time.Millisecond: ":\n\n:\n\n"} {
		s := startBeating(t, nil, heartbeat)
		s.ask("/graphql", `mutation{createTopic(name:"t"){name}}`)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+"/graphql",
			strings.NewReader(string(body(`subscription{messages(topic:"t"){payload}}`))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/event-stream")
		w, err := s.client.Do(r) // waits for the headers
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(quiet))
		if _, err := io.ReadFull(w.Body, got); err != nil || string(got) != quiet || w.StatusCode != http.StatusOK {
			t.Errorf("status %d, then %q, %v", w.StatusCode, got, err)
		}
		s.ask("/graphql", `mutation{publish(topic:"t",messages:[{payload:"a"}]){count}}`)
		if e, err := sse.NewReader(w.Body).Next(); err != nil ||
			string(e.Data) != `{"data":{"messages":{"payload":"a"}}}` {
			t.Errorf("%s %s, %v", e.Name, e.Data, err)
		}
		w.Body.Close()
	}
}

// The protocol's rules, and the bounds of a connection.
func TestSocketRules(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.ask("/graphql", `mutation{createTopic(name:"t"){name}}`)
	const subscribe = `subscription{messages(topic:"t"){payload}}`
	for _, c := range []struct {
		why  string
		do   func(*socket)
		code websocket.StatusCode
	}{
		{"two beginnings", func(k *socket) { k.send(`{"type":"connection_init"}`) }, 4429},
		{"no JSON", func(k *socket) { k.send(`{`) }, 4400},
		{"an unknown type", func(k *socket) { k.send(`{"type":"start"}`) }, 4400},
		{"no id", func(k *socket) { k.send(`{"type":"subscribe","payload":{"query":"{cluster{node}}"}}`) }, 4400},
		{"an id twice", func(k *socket) { k.subscribe("1", subscribe); k.subscribe("1", subscribe) }, 4409},
		{
			"a message beyond the limit", func(k *socket) { k.send(`{"type":"` + strings.Repeat("x", 8<<20) + `"}`) },
			websocket.StatusMessageTooBig,
		},
	} {
		k := s.open("/graphql")
		c.do(k)
		if code := k.closed(); code != c.code {
			t.Errorf("%s: closed with %d, want %d", c.why, code, c.code)
		}
	}
	early, _, err := s.dial("/graphql", "")
	if err != nil {
		t.Fatal(err)
	}
	k := &socket{s, early}
	k.subscribe("1", subscribe)
	if code := k.closed(); code != 4401 {
		t.Errorf("before the beginning: closed with %d", code)
	}

	k = s.open("/graphql")
	k.send(`{"type":"ping"}`)
	s.want(k.next(), `{"type":"pong"}`)
	k.subscribe("q", `{cluster{node}}`)
	s.want(k.next(), `{"id":"q","type":"next","payload":{"data":{"cluster":{"node":"1"}}}}`)
	s.want(k.next(), `{"id":"q","type":"complete"}`)
	k.subscribe("e", `{nothing}`)
	s.want(k.next(), `{"id":"e","type":"error","payload":[{"message":`)
	k.subscribe("d", `{`+strings.Repeat(`topic(name:"a"){groups{topic `, 40)+strings.Repeat(`}}`, 40)+`}`)
	if got := k.next(); !strings.Contains(got, "invalid_argument") {
		t.Errorf("a deep question: %s", got)
	}
	for i := range 4 {
		k.subscribe(fmt.Sprint(i), subscribe)
	}
	if got := k.next(); !strings.Contains(got, "resource_exhausted") { // the node takes 3
		t.Errorf("too many: %s", got)
	}
}

// Pages of other origins get no WebSocket, on which browsers put no other guard (hb-D30).
func TestSocketOrigins(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for origin, status := range map[string]int{
		"": 101, "https://good.example": 101, "http://" + s.address: 101,
		"https://evil.example": 403, "https://good.example.evil.example": 403,
	} {
		conn, got, _ := s.dial("/graphql", origin)
		if got != status {
			t.Errorf("origin %q: %d, want %d", origin, got, status)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
}

// A stop ends subscriptions and waits for none; a leader lost ends a group's with
// a reason; a subscriber that leaves leaves nothing behind (hb-D20, hb-D30, hb-D31).
func TestEnds(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.ask("/graphql", `mutation{createTopic(name:"t"){name}}`)
	k := s.open("/graphql")
	k.subscribe("g", `subscription{messages(topic:"t",group:"g"){payload}}`)
	s.subscribers("t", 1)
	s.memory.Lead(false)
	if got := k.next(); !strings.HasPrefix(got, `{"id":"g","type":"error"`) || !strings.Contains(got, "unavailable") {
		t.Errorf("a leader lost: %s", got)
	}
	s.memory.Lead(true)
	k.subscribe("a", `subscription{messages(topic:"t"){payload}}`)
	s.subscribers("t", 1)
	_ = k.conn.CloseNow()
	s.subscribers("t", 0)
	last := s.open("/graphql")
	last.subscribe("a", `subscription{messages(topic:"t"){payload}}`)
	s.subscribers("t", 1)
	closed := make(chan websocket.StatusCode)
	go func() { closed <- last.closed() }()
	s.stop()
	if code := <-closed; code != websocket.StatusGoingAway {
		t.Errorf("a stop closes with %d", code)
	}
}

// subscribers waits until a topic has so many.
func (s *rig) subscribers(topic string, n int) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		if t, err := s.memory.Topic(ctx, topic, false); err == nil && t.Subscribers == n {
			return
		}
	}
	s.Fatalf("topic %s does not get to %d subscribers", topic, n)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if _, err := graphql.Handlers(graphql.Config{}); err == nil || status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("no broker: %v", err)
	}
}
