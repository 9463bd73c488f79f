package api_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/hermes"
	"wirelab/internal/leaktest"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// ok is what a call answers that must not fail.
func ok(t *testing.T, at caller, w want) string {
	t.Helper()
	reply, _, err := at.ask(w)
	if err != nil {
		t.Fatalf("%s: %v", w.call, err)
	}
	return reply
}

// all256 is every byte there is, NUL first.
var all256 = func() (all []byte) {
	for b := range 256 {
		all = append(all, byte(b))
	}
	return append(all, 0, 0)
}()

// Every unary call answers alike at each API of each node, with the same code where it fails, and names the
// leader where another node answers.
func TestCallsAreAlike(t *testing.T) {
	c := newCluster(t)
	leader, _ := c.leader()
	ok(t, newGRPC(c, c.members[0], "root"), want{call: "create", topic: "spent"})
	for _, m := range c.members { // more at once than a second's worth passes, and is paid for by those that follow
		ok(t, newGRPC(c, m, "few"), want{call: "publish", runs: []run{of("spent", make([][]byte, 4000)...)}})
	}
	c.everywhere(t, func(t *testing.T, at caller, name string) {
		topic := "t." + strings.ReplaceAll(name, " ", "-")
		producer := ok(t, at, want{call: "producer"})
		id, err := strconv.ParseUint(producer, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, try := range slices.Concat(publishes(topic, id), administration(topic, leader)) {
			who := at
			if try.who != "-" {
				who = at.as(try.who)
			}
			reply, hint, err := who.ask(try.want)
			// Of a node's own state, which may be behind the leader's.
			if try.want.call == "topics" || try.want.call == "groups" {
				until(t, try.name, func() bool {
					reply, hint, err = who.ask(try.want)
					return err != nil || reply == try.reply
				})
			}
			code := "ok"
			if err != nil {
				code = status.CodeOf(err).String()
				reply = ""
			}
			if code != try.code {
				t.Errorf("%s: %v; want %s", try.name, err, try.code)
				continue
			}
			if try.reply != "" && reply != try.reply {
				t.Errorf("%s: %q; want %q", try.name, reply, try.reply)
			}
			want := ""
			if strings.Contains(t.Name(), "follower") && code != "unauthenticated" {
				want = hintOf(c, t.Name(), leader)
			}
			if hint != want {
				t.Errorf("%s: the hint is %q; want %q", try.name, hint, want)
			}
		}
	})
}

// hintOf is the leader's address of the same API.
func hintOf(c *cluster, test string, leader uint64) string {
	if strings.Contains(test, "grpc") {
		return c.members[leader-1].GRPC
	}
	return c.members[leader-1].HTTP
}

// try is a call and its expected result.
type try struct {
	name  string
	who   string // "-": who asks is root
	want  want
	code  string
	reply string // "": any
}

func of(topic string, payloads ...[]byte) run { return run{topic: topic, payloads: payloads} }

// The codes that cases name often.
const invalid, missing, exhausted, denied = "invalid_argument", "not_found", "resource_exhausted", "permission_denied"

// publishes are the cases of publishing, in the order in which they are tried. They make
// topic and leave 11 messages in it.
func publishes(topic string, producer uint64) []try {
	big := bytes.Repeat([]byte{0xfe}, hermes.PayloadLimit)
	again := run{topic: topic, payloads: [][]byte{[]byte("once")}, producer: producer, sequence: 1}
	gap := again
	gap.sequence = 3
	stray := again
	stray.sequence = 0
	unowned := again
	unowned.producer = 0
	foreign := again
	foreign.producer = math.MaxUint64
	mode := func(name string) run { return run{topic: topic, mode: name, payloads: [][]byte{[]byte(name)}} }
	day := 24 * time.Hour
	publish := func(r run) want { return want{call: "publish", runs: []run{r}} }
	return []try{
		{"publish to an unknown topic", "-", publish(of(topic, []byte("a"))), missing, ""},
		{"read an unknown topic", "-", want{call: "topic", topic: topic}, missing, ""},
		{"groups of an unknown topic", "-", want{call: "groups", topic: topic}, missing, ""},
		{"change an unknown topic", "-", want{call: "configure", topic: topic, age: day}, missing, ""},
		{"delete an unknown topic", "-", want{call: "delete", topic: topic}, missing, ""},
		{"make a topic", "-", want{call: "create", topic: topic, age: day}, "ok", topic + " 0-0 for 24h0m0s"},
		{"make it again", "-", want{call: "create", topic: topic, age: day}, "ok", topic + " 0-0 for 24h0m0s"},
		{"make it otherwise", "-", want{call: "create", topic: topic}, "conflict", ""},
		{"change it", "-", want{call: "configure", topic: topic, age: 2 * day}, "ok", topic + " 0-0 for 48h0m0s"},
		{"list it", "-", want{call: "topics", topic: topic, id: 1000}, "ok", topic},
		{"list too many", "-", want{call: "topics", topic: topic, id: 1001}, invalid, ""},
		{"list as many as usual", "-", want{call: "topics", topic: topic, id: 0}, "ok", topic},

		{"publish one", "-", publish(of(topic, []byte("a"))), "ok", "1 at 0"},
		{"publish nothing", "-", publish(of(topic)), invalid, ""},
		{"an empty payload", "-", publish(of(topic, []byte{})), "ok", "1 at 1"},
		{"all bytes", "-", publish(of(topic, all256)), "ok", "1 at 2"},
		{"the largest payload", "-", publish(of(topic, big)), "ok", "1 at 3"},
		{"a byte more", "-", publish(of(topic, append(big[:len(big):len(big)], 0))), invalid, ""},
		{"several", "-", publish(of(topic, []byte("b"), []byte("c"))), "ok", "2 at 4"},
		{"too many", "-", publish(of(topic, make([][]byte, hermes.RunMessages+1)...)), invalid, ""},
		{"eventual", "-", publish(mode("eventual")), "ok", ""}, // provisional, or already replicated
		{"consistent", "-", publish(mode("consistent")), "ok", "1 at 7"},
		{"performance", "-", publish(mode("performance")), "ok", "1 handed on"},
		{"no mode at all", "-", publish(mode("sometimes")), invalid, ""},

		{"a producer's first", "-", publish(again), "ok", "1 at 8"},
		{"a producer's first again", "-", publish(again), "ok", "1 at 8 again"},
		{"a producer's third before its second", "-", publish(gap), "conflict", ""},
		{"a producer without a sequence", "-", publish(stray), invalid, ""},
		{"a sequence without a producer", "-", publish(unowned), invalid, ""},
		{"a producer that was not given out", "-", publish(foreign), missing, ""},

		{
			"a batch with one bad message", "-",
			want{call: "batch", runs: []run{
				of(topic, []byte("d")), of(topic, append(big[:len(big):len(big)], 0)),
				of("no topic"), of("unknown", nil), of(topic, []byte("e")),
			}},
			"ok", "1 at 9, invalid_argument, invalid_argument, not_found, 1 at 10",
		},
		{"a batch of nothing but bad ones", "-", want{call: "batch", runs: []run{of(topic)}}, "ok", "invalid_argument"},
		{"a batch of nothing", "-", want{call: "batch"}, invalid, ""},
	}
}

// administration are the other cases, which follow, and delete topic at the end.
func administration(topic string, leader uint64) []try {
	long := strings.Repeat("n", hermes.NameLimit)
	publish := func(r run) want { return want{call: "publish", runs: []run{r}} }
	return []try{
		{"no name", "-", publish(of(".hidden", []byte("a"))), invalid, ""},
		{"a name with NUL", "-", want{call: "topic", topic: "a\x00b"}, invalid, ""},
		{"a name with a slash", "-", want{call: "topic", topic: "a/b"}, invalid, ""},
		{"the longest name", "-", want{call: "topic", topic: long}, missing, ""},
		{"a longer name", "-", want{call: "topic", topic: long + "n"}, invalid, ""},
		{"a bad group", "-", want{call: "group", topic: topic, group: "a b"}, invalid, ""},
		{"the replay as a group", "-", want{call: "makeGroup", topic: topic, group: hermes.Replay}, invalid, ""},

		{"stranger", "", publish(of(topic, []byte("a"))), "unauthenticated", ""},
		{"no right to publish", "reader", publish(of("news.x", []byte("a"))), denied, ""},
		{"no right to look", "reader", want{call: "topic", topic: topic}, denied, ""},
		{"no right to make", "reader", want{call: "create", topic: "news.y"}, denied, ""},
		{"no right to a group", "few", want{call: "makeGroup", topic: topic, group: "g"}, denied, ""},
		{"no right to change the cluster", "reader", want{call: "promote", id: 1}, denied, ""},
		{"over quota", "few", publish(of(topic, []byte("a"))), exhausted, ""},

		{"an unknown group", "-", want{call: "group", topic: topic, group: "g"}, missing, ""},
		{"seek an unknown group", "-", want{call: "seek", topic: topic, group: "g", from: "oldest"}, missing, ""},
		{
			"make a group", "-",
			want{call: "makeGroup", topic: topic, group: "g", age: time.Minute, attempts: 3},
			"ok",
			"g floor 0 lag 11 dead 0, 1m0s 3 times",
		},
		{
			"make it otherwise", "-",
			want{call: "makeGroup", topic: topic, group: "g", age: time.Hour, attempts: 3},
			"conflict",
			"",
		},
		{"list groups", "-", want{call: "groups", topic: topic}, "ok", "g"},
		{
			"seek to an offset", "-",
			want{call: "seek", topic: topic, group: "g", from: "7"},
			"ok",
			"g floor 7 lag 4 dead 0, " +
				"1m0s 3 times",
		},
		{
			"seek to the tail", "-",
			want{call: "seek", topic: topic, group: "g", from: "tail"},
			"ok",
			"g floor 11 lag 0 dead " +
				"0, 1m0s 3 times",
		},
		{"seek nowhere", "-", want{call: "seek", topic: topic, group: "g", from: "up"}, invalid, ""},
		{"delete a group", "-", want{call: "deleteGroup", topic: topic, group: "g"}, "ok", ""},
		{"delete it again", "-", want{call: "deleteGroup", topic: topic, group: "g"}, missing, ""},
		{"no groups", "-", want{call: "groups", topic: topic}, "ok", ""},

		{"the cluster", "-", want{call: "cluster"}, "ok", ""},
		{"promote who is a voter", "-", want{call: "promote", id: leader}, "ok", clusterText(0, leader, 3)},
		{"promote no one", "-", want{call: "promote", id: 99}, missing, ""},
		{"promote no id", "-", want{call: "promote"}, invalid, ""},
		{"delete the topic", "-", want{call: "delete", topic: topic}, "ok", ""},
		{"it is gone", "-", publish(of(topic, []byte("a"))), missing, ""},
	}
}

// is wants an error's code.
func is(t *testing.T, what string, err error, code status.Code) {
	t.Helper()
	var coded *status.Error
	if err == nil || !errors.As(err, &coded) || status.CodeOf(err) != code {
		t.Errorf("%s: %v; want %v", what, err, code)
	}
}
