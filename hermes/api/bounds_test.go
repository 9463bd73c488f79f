package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/gen/origin"
	"wirelab/wire/status"
)

// beyond is everything beyond a bound: refused for good, so that no client sends it again.
type beyond struct {
	name string
	want want
	says string // a pattern: the bound by name, and its value
}

func beyonds(topic string) []beyond {
	long := func(n int) string { return strings.Repeat("x", n) }
	publish := func(r run) want { r.topic = topic; return want{call: "publish", runs: []run{r}} }
	one := [][]byte{[]byte("a")}
	var wide [][2]string
	for i := range 5 {
		wide = append(wide, [2]string{fmt.Sprint("h", i), long(2000)})
	}
	whole := make([][]byte, 5)
	for i := range whole {
		whole[i] = []byte(long(hermes.PayloadLimit - 100))
	}
	return []beyond{
		{
			"a payload", publish(run{payloads: [][]byte{[]byte(long(hermes.PayloadLimit + 1))}}),
			"payload of 1048577 bytes; " +
				"at most 1048576",
		},
		{"a key", publish(run{payloads: one, key: long(hermes.KeyLimit + 1)}), "key of 1025 bytes; at most 1024"},
		{
			"a header's name",
			publish(run{payloads: one, headers: [][2]string{{long(hermes.HeaderNameLimit + 1), ""}}}),
			"header whose name has 129 bytes; at most 128",
		},
		{"headers", publish(run{payloads: one, headers: wide}), "headers of [0-9]+ bytes or more; at most 8192"},
		{
			"messages of a run", publish(run{payloads: make([][]byte, hermes.RunMessages+1)}),
			"(4097|more than 4096) messages",
		},
		{"a run", publish(run{payloads: whole}), "a run has [0-9]+ bytes; at most 4194304"},
		{"a topic's name", want{call: "create", topic: long(hermes.NameLimit + 1)}, "topic has 250 bytes; at most 249"},
		{
			"a group's name",
			want{call: "makeGroup", topic: topic, group: long(hermes.NameLimit + 1)},
			"group has 250 bytes; " +
				"at most 249",
		},
		{"a page of topics", want{call: "topics", topic: topic, id: 1001}, "1001.* 1000"},
	}
}

// Everything beyond a bound is InvalidArgument at each API, names the bound and says its value. A quota passes:
// it is ResourceExhausted, and names itself too.
func TestBoundsAreAlike(t *testing.T) {
	c := newCluster(t)
	leader, _ := c.leader()
	ok(t, newGRPC(c, c.members[leader-1], "root"), want{call: "create", topic: "spent"})
	for _, m := range c.members {
		ok(t, newGRPC(c, m, "few"), want{call: "publish", runs: []run{of("spent", make([][]byte, 4000)...)}})
	}
	c.everywhere(t, func(t *testing.T, at caller, name string) {
		topic := "bounds." + strings.ReplaceAll(name, " ", "-")
		ok(t, at, want{call: "create", topic: topic})
		for _, b := range beyonds(topic) {
			_, _, err := at.ask(b.want)
			is(t, b.name, err, status.InvalidArgument)
			says(t, b.name, err, b.says)
		}
		_, _, err := at.as("few").ask(want{call: "publish", runs: []run{of("spent", []byte("a"))}})
		is(t, "a quota", err, status.ResourceExhausted)
		says(t, "a quota", err, "you may publish [0-9]+ messages per second")
	})
}

func says(t *testing.T, what string, err error, pattern string) {
	t.Helper()
	if err == nil || !regexp.MustCompile(pattern).MatchString(err.Error()) {
		t.Errorf("%s: %v; want %q", what, err, pattern)
	}
}

// The origin's paths refuse alike.
func TestOriginsBounds(t *testing.T) {
	c := newCluster(t)
	leader, _ := c.leader()
	m := c.members[leader-1]
	g := newGRPC(c, m, "root")
	ok(t, g, want{call: "create", topic: "old"})
	long := strings.Repeat("x", hermes.PayloadLimit+1)
	_, err := origin.NewBrokerServiceClient(g.conn).Publish(g.context(), &origin.PublishRequest{
		Topic:   "old",
		Payload: []byte(long),
	})
	if err == nil || !strings.Contains(err.Error(), "InvalidArgument") || !strings.Contains(err.Error(),
		"1048577 bytes; at most 1048576") {
		t.Errorf("gRPC: %v", err)
	}
	r, err := c.send(t.Context(), "root", http.MethodPost, "http://"+m.HTTP+"/publish",
		object{"topic": "old", "payload": long})
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("REST: status %d", r.StatusCode)
	}
	o := originClients{c, "old"}
	if err := o.post(m, "/query", object{
		"query": `mutation($t: String!, $p: String!) { publish(topic: $t, payload: $p) { success } }`,
		"variables": object{
			"t": "old", "p": long,
		},
	}, `"code":"invalid_argument"`); err != nil {
		t.Errorf("GraphQL: %v", err)
	}
}
