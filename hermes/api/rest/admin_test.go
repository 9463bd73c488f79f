package rest_test

import (
	"context"
	"strings"
	"testing"

	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// Topics are made, listed by pages, changed and deleted.
func TestTopics(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	const body = `{"retention_age":"168h","retention_bytes":1024}`
	put := func(name, body string) answer {
		return s.ask("PUT", "/v1/topics/"+name, body, "Content-Type", kindJSON)
	}
	s.want(put("a", body), 200, `"retention_age":"168h0m0s","retention_bytes":1024`)
	s.want(put("a", body), 200, `"name":"a"`)
	s.want(put("a", `{}`), 409, "conflict")
	s.topic("b")
	s.want(s.ask("PATCH", "/v1/topics/b", `{"retention_bytes":5}`, "Content-Type", kindJSON), 200,
		`"retention_bytes":5`)
	s.put("b", "x")
	s.want(s.ask("GET", "/v1/topics/b?linearizable=true", ""), 200, `"first":0,"next":1`)
	s.topic("ba")
	for query, want := range map[string]string{
		"": "a b ba hermes.dlq", "?limit=2": "a b +b", "?limit=2&after=b": "ba hermes.dlq", "?prefix=b": "b ba",
		"?prefix=b&after=b&limit=1": "ba", "?after=z": "",
	} {
		list := read[struct {
			Topics []struct{ Name string }
			Next   string
		}](s, s.want(s.ask("GET", "/v1/topics"+query, ""), 200, ""))
		var got []string
		for _, one := range list.Topics {
			got = append(got, one.Name)
		}
		if list.Next != "" {
			got = append(got, "+"+list.Next)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
	s.want(s.ask("DELETE", "/v1/topics/b", ""), 204, "")
	for _, c := range []struct {
		method, target, body string
		status               int
	}{
		{"GET", "/v1/topics/b", "", 404},
		{"DELETE", "/v1/topics/b", "", 404},
		{"GET", "/v1/topics/a?linearizable=1", "", 400},
		{"GET", "/v1/topics/.a", "", 400},
		{"GET", "/v1/topics/a%", "", 400},
		{"GET", "/v1/topics/", "", 404},
		{"GET", "/v1//topics", "", 404},
		{"GET", "/v1/topics?limit=1001", "", 400},
		{"GET", "/v1/topics?limit=-1", "", 400},
		{"PUT", "/v1/topics/c", `{"retention_age":"-1s"}`, 400},
		{"PUT", "/v1/topics/c", `{"retention_age":7}`, 400},
		{"PUT", "/v1/topics/c", `{"retention_bytes":-1}`, 400},
		{"PUT", "/v1/topics/c", `{"retention":1}`, 400},
		{"PATCH", "/v1/topics/a", "", 400},
		{"PATCH", "/v1/topics/none", "{}", 404},
		{"DELETE", "/v1/topics/a", "{}", 400},
		{"POST", "/v1/topics/a", "{}", 405},
	} {
		if strings.Contains(c.target, "a%") {
			continue // no URL that a client can send
		}
		a := s.ask(c.method, c.target, c.body, "Content-Type", kindJSON)
		if a.status != c.status {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.target, c.body, a.status, a.body, c.status)
		}
	}
}

// Groups are made where their maker says, moved, and deleted.
func TestGroups(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	s.topic("t")
	s.put("t", "a", "b", "c")
	put := func(name, body string) answer {
		return s.ask("PUT", "/v1/topics/t/groups/"+name, body, "Content-Type", kindJSON)
	}
	s.want(put("g", `{"ack_timeout":"5s","max_attempts":2}`), 200,
		`"ack_timeout":"5s","max_attempts":2,"floor":0,"acked":[],"lag":3`)
	s.want(put("tail", `{"from":"tail"}`), 200, `"floor":3`)
	s.want(put("one", `{"from":"1"}`), 200, `"ack_timeout":"30s","max_attempts":5,"floor":1`)
	s.want(s.post("/v1/topics/t/groups/g/seek", `{"from":"2"}`), 200, `"floor":2`)
	s.want(s.post("/v1/topics/t/groups/g/seek", `{"from":"2020-01-01T00:00:00Z"}`), 200, `"floor":0`)
	got := read[struct{ Groups []struct{ Name string } }](s, s.want(s.ask("GET", "/v1/topics/t/groups", ""), 200, ""))
	if len(got.Groups) != 3 || got.Groups[0].Name != "g" {
		t.Errorf("%+v", got)
	}
	s.want(s.ask("DELETE", "/v1/topics/t/groups/g", ""), 204, "")
	for _, c := range []struct {
		method, target, body string
		status               int
	}{
		{"GET", "/v1/topics/t/groups/g", "", 404},
		{"GET", "/v1/topics/none/groups", "", 404},
		{"PUT", "/v1/topics/t/groups/__REPLAY__", "", 400},
		{"PUT", "/v1/topics/t/groups/g", `{"from":"middle"}`, 400},
		{"PUT", "/v1/topics/t/groups/g", `{"max_attempts":-1}`, 400},
		{"PUT", "/v1/topics/none/groups/g", ``, 404},
		{"POST", "/v1/topics/t/groups/tail/seek", `{}`, 400},
		{"POST", "/v1/topics/t/groups/g/seek", `{"from":"tail"}`, 404},
		{"DELETE", "/v1/topics/t/groups/g", "", 404},
	} {
		if a := s.ask(c.method, c.target, c.body, "Content-Type", kindJSON); a.status != c.status {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.target, c.body, a.status, a.body, c.status)
		}
	}
}

// The cluster is shown, and changed by its members' ids, which are texts.
func TestCluster(t *testing.T) {
	t.Parallel()
	const large = 1<<63 + 1 // beyond what JSON numbers hold
	var joined broker.Member
	status := broker.Status{
		Node: large, Leader: large, Term: 3, Committed: 9, Applied: 8, Unready: "no room",
		Members: []broker.Member{{ID: large, Name: "a", Leader: true, HTTP: "x:1"}, {ID: 2, Learner: true}},
	}
	b := &scripted{Broker: memory(t), status: &status, join: func(m broker.Member) { joined = m }}
	s := start(t, rest.Config{Broker: b})
	s.want(s.ask("GET", "/v1/cluster", ""), 200,
		`{"node":"9223372036854775809","leader":"9223372036854775809","term":3,"committed":9,"applied":8,"unready":"no room","members":[{"id":"9223372036854775809"`)
	s.want(s.post("/v1/cluster/members",
		`{"id":"9223372036854775809","name":"n","peer":"p:1","grpc":"g:1","http":"h:1"}`),
		200, "")
	if joined != (broker.Member{ID: large, Name: "n", Peer: "p:1", GRPC: "g:1", HTTP: "h:1"}) {
		t.Errorf("%+v", joined)
	}
	s.want(s.ask("DELETE", "/v1/cluster/members/2", ""), 200, `"members"`)
	m := start(t, rest.Config{})
	m.want(m.post("/v1/cluster/members/1/promote", ""), 200, `"node":"1"`)
	m.want(m.post("/v1/cluster/leader", `{"to":"1"}`), 200, `"leader":"1"`)
	for _, c := range []struct {
		method, target, body string
		status               int
	}{
		{"DELETE", "/v1/cluster/members/2", "", 404},
		{"DELETE", "/v1/cluster/members/0", "", 400},
		{"POST", "/v1/cluster/members/x/promote", "", 400},
		{"POST", "/v1/cluster/members", `{"id":"2"}`, 400},
		{"POST", "/v1/cluster/members", `{"id":2,"peer":"p:1"}`, 400},
		{"POST", "/v1/cluster/members", `{"id":"2","peer":"p:1"}`, 501},
		{"POST", "/v1/cluster/leader", `{"to":"5"}`, 404},
		{"POST", "/v1/cluster/leader", `{}`, 400},
	} {
		if a := m.ask(c.method, c.target, c.body, "Content-Type", kindJSON); a.status != c.status {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.target, c.body, a.status, a.body, c.status)
		}
	}
}

// ill is a node that is as a test says.
type ill struct{ live, ready error }

func (i ill) Live() error                 { return i.live }
func (i ill) Ready(context.Context) error { return i.ready }
func (ill) Files() (open, limit int)      { return 9, 64 }

// What a node says of itself is reported, with the reason (hb-D33).
func TestHealthOfNode(t *testing.T) {
	t.Parallel()
	behind := status.Errorf(status.Unavailable, "this node is behind")
	stuck := status.Errorf(status.Unavailable, "the loop does not turn")
	s := start(t, rest.Config{Token: "secret", Health: ill{ready: behind}})
	s.want(s.ask("GET", "/livez", ""), 200, "live")
	s.want(s.ask("GET", "/readyz", ""), 503, "this node is behind")
	s = start(t, rest.Config{Health: ill{live: stuck}})
	s.want(s.ask("GET", "/livez", ""), 503, "does not turn")
	s.want(s.ask("GET", "/readyz", ""), 200, `{"status":"ready","open_files":9,"open_files_limit":64}`)
}

// A node is ready while it knows a leader, and lives all the while (hb-D33).
func TestHealth(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{Token: "secret"})
	s.want(s.ask("GET", "/v1/health/ready", ""), 200, "ready")
	s.memory.Lead(false)
	s.want(s.ask("GET", "/v1/health/ready", ""), 503, "unavailable")
	s.want(s.ask("GET", "/v1/health/live", ""), 200, "live")
	s.want(s.ask("GET", "/v1/health/live?x=1", ""), 400, "")
}
