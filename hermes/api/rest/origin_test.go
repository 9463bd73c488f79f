package rest_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
)

// The origin's clients publish as they did (hb-F10, hb-F11).
func TestOriginPublish(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	if a := s.want(s.post("/publish", `{"topic":"t","payload":"REST-1","mode":0}`), 200,
		""); a.body != `{"success":true}` || a.header.Get("X-Leader-Hint") != "" {
		t.Errorf("%s %v", a.body, a.header)
	}
	if a := s.want(s.post("/publish/batch", `{"topic":"t","payloads":["a",""],"mode":1}`), 200,
		""); a.body != `{"success":true,"count":2}` {
		t.Errorf("%s", a.body)
	}
	s.want(s.post("/publish", `{"topic":"new","payload":"x","mode":2}`), 200, "")
	if all := s.stored("t"); len(all) != 3 || string(all[0].Payload) != "REST-1" {
		t.Errorf("%q", all)
	}
	for _, body := range []string{
		// hb-D27.
		`{"payload":"x"}`, `{"topic":"t"}`, `{"topic":"t","payload":""}`, `{"topic":"a\u0000b","payload":"x"}`,
		`{"topic":"t","payload":"x","mode":3}`,
		`{"topic":"t","payload":"x","mode":-1}`, `{"topic":"t","payload":"x","mode":0.5}`, `{`, `[]`, `null`,
	} {
		s.want(s.post("/publish", body), 400, "invalid_argument")
	}
	s.want(s.post("/publish/batch", `{"topic":"t","payloads":[]}`), 400, "")
	s.want(s.ask("GET", "/publish", ""), 405, "")
	// A batch that cannot be stored does not say that it was (hb-D16).
	s.memory.Lead(false)
	s.want(s.post("/publish/batch", `{"topic":"t","payloads":["a"]}`), 503, "unavailable")
}

// A follower says who leads.
func TestOriginHint(t *testing.T) {
	t.Parallel()
	b := &scripted{Broker: memory(t), leader: &broker.Member{ID: 9, HTTP: "n9:8080"}}
	s := start(t, rest.Config{Broker: b})
	for target, body := range map[string]string{
		"/publish":       `{"topic":"t","payload":"x"}`,
		"/publish/batch": `{"topic":"t","payloads":["x"]}`,
	} {
		if a := s.want(s.post(target, body), 200, ""); a.header.Get("X-Leader-Hint") != "n9:8080" {
			t.Errorf("%v", a.header)
		}
	}
}

// The origin's readers get its events, and what they did not have: bytes that are no text, ids that are no
// other's, a place to go on from (hb-F12, hb-D13, hb-D28, hb-D29).
func TestOriginSubscribe(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	address, _ := s.serve()
	type message struct {
		ID            string
		Topic         string
		Payload       string
		PayloadBase64 []byte `json:"payload_base64"`
		Timestamp     int64
	}
	take := func(l *listener) message {
		t.Helper()
		e := l.next()
		var m message
		if err := json.Unmarshal(e.Data, &m); err != nil || e.Name != "" {
			t.Fatalf("%s %s: %v", e.Name, e.Data, err)
		}
		return m
	}
	live := s.listen(address, "/subscribe?topic=t")
	s.want(s.post("/publish", `{"topic":"t","payload":"one"}`), 200, "")
	s.put("t", "\xff")
	if m := take(live); m.ID != "t/0" || m.Topic != "t" || m.Payload != "one" || m.Timestamp < 1.7e9 ||
		m.Timestamp > 1e10 {
		t.Errorf("%+v", m)
	}
	if m := take(live); string(m.PayloadBase64) != "\xff" || m.ID != "t/1" {
		t.Errorf("%+v", m)
	}
	s.want(s.post("/publish", `{"topic":"t","payload":"live","mode":2}`), 200, "")
	if m := take(live); m.ID != "" || m.Payload != "live" {
		t.Errorf("%+v", m)
	}
	if m := take(s.listen(address, "/subscribe?topic=t&group=__REPLAY__")); m.Payload != "one" {
		t.Errorf("a replay begins with %+v", m)
	}
	if m := take(s.listen(address, "/subscribe?topic=t", "Last-Event-ID", "0")); m.ID != "t/1" {
		t.Errorf("behind the first comes %+v", m)
	}
	group := s.listen(address, "/subscribe?topic=t&group=g&ack=manual")
	if m := take(group); m.Payload != "one" {
		t.Errorf("a group begins with %+v", m)
	}
	s.want(s.post("/v1/subscriptions/"+group.id+"/ack", `{"ranges":[{"first":0,"last":0}]}`), 204, "")
	s.want(s.ask("GET", "/v1/topics/t/groups/g", ""), 200, `"floor":1`)
}

// Joining and status as the origin's clients know them (hb-F13, hb-F14).
func TestOriginCluster(t *testing.T) {
	t.Parallel()
	var joined broker.Member
	m := memory(t)
	b := &scripted{Broker: m, join: func(who broker.Member) { joined = who }}
	s := start(t, rest.Config{Broker: b})
	s.memory = m
	if a := s.want(s.post("/join", `{"node_id":"node-3","raft_addr":"hermes-3:6000"}`), 200, ""); a.body != "" ||
		joined != (broker.Member{ID: 3, Name: "node-3", Peer: "hermes-3:6000"}) {
		t.Errorf("%q, %+v", a.body, joined)
	}
	for _, body := range []string{
		`{}`, `{"node_id":"node-3"}`, `{"node_id":"node","raft_addr":"a:1"}`,
		`{"node_id":"node-0","raft_addr":"a:1"}`, `{"node_id":"n99999999999999999999","raft_addr":"a:1"}`,
	} {
		s.want(s.post("/join", body), 400, "invalid_argument")
	}
	s.want(s.post("/publish/batch", `{"topic":"t","payloads":["a","b"]}`), 200, "")
	s.want(s.post("/publish", `{"topic":"t","payload":"x","mode":7}`), 400, "")
	a := s.want(s.ask("GET", "/status", ""), 200,
		`"node_id":"memory","is_leader":true,"leader_id":"memory","stats":{"global":{"published_total":2,"consumed_total":0,"failed_total":0,`)
	if !strings.Contains(a.body, `"t":{"published_total":2,"consumed_total":0,"active_subscribers":0,`) {
		t.Errorf("%s", a.body)
	}
}

// What the origin documents is curl without a type, which curl then calls a form. It works on its paths, and
// nowhere else. No page elsewhere gets in by it, neither by its script, which has to name its origin, nor by its
// form, which either writes no JSON or has a type that is refused.
func TestOriginTakesCurlsType(t *testing.T) {
	t.Parallel()
	var joined broker.Member
	m := memory(t)
	s := start(t, rest.Config{Broker: &scripted{Broker: m, join: func(who broker.Member) { joined = who }}})
	s.memory = m
	const form = "application/x-www-form-urlencoded"
	paths := map[string]string{
		"/publish":       `{"topic": "logs", "payload": "System start"}`,
		"/publish/batch": `{"topic": "logs", "payloads": ["a", "b"]}`,
		"/join":          `{"node_id": "node-2", "raft_addr": "localhost:6001"}`,
	}
	for path, body := range paths {
		s.want(s.ask("POST", path, body, "Content-Type", form), 200, "")
		s.want(s.ask("POST", path, body, "Content-Type", form, "Origin", "http://localhost"), 200, "")
		for _, kind := range []string{
			"text/plain", "text/plain;charset=UTF-8", "multipart/form-data; boundary=x", form + "x",
		} {
			s.want(s.ask("POST", path, body, "Content-Type", kind), 415, "send application/json")
		}
		for _, header := range [][]string{
			{"Origin", "https://evil.example"},
			{"Origin", "null"},
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site", "Origin", "http://other.localhost"},
		} {
			for _, kind := range []string{form, "text/plain", "application/json"} {
				s.want(s.ask("POST", path, body, append([]string{"Content-Type", kind}, header...)...), 403,
					"permission_denied")
			}
		}
		// The form of a page that is too old to name its origin.
		s.want(s.ask("POST", path, url.Values{body: {""}}.Encode(), "Content-Type", form), 400, "invalid_argument")
		s.want(s.ask("POST", path, "", "Content-Type", form), 400, "invalid_argument")
	}
	if all := s.stored("logs"); len(all) != 2*(1+2) || joined.ID != 2 {
		t.Errorf("%q, %+v", all, joined)
	}
	s.want(s.ask("POST", "/v1/publish", `{}`, "Content-Type", form), 415, "")
	s.want(s.ask("POST", "/v1/topics/logs/messages", `{"payload":"x"}`, "Content-Type", form), 415, "")
	s.spec = undescribed() // no type at all
	for path, body := range paths {
		s.want(s.ask("POST", path, body), 200, "")
		s.want(s.ask("POST", path, body, "Origin", "https://evil.example"), 403, "")
	}
}
