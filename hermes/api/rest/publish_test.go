package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/api/intake"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

const kindBytes, kindProto = "application/octet-stream", "application/protobuf"

// stored reads all that a topic has.
func (s *rig) stored(topic string) (all []hermes.Message) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	t, err := s.memory.Topic(ctx, topic, false)
	if err != nil {
		s.Fatal(err)
	}
	feed, err := s.memory.Subscribe(ctx, broker.Start{Topic: topic, From: broker.FromOldest})
	if err != nil {
		s.Fatal(err)
	}
	defer feed.Close()
	for uint64(len(all)) < t.Next-t.First {
		b, err := feed.Next(ctx, broker.Room{Bytes: 1 << 20})
		if err != nil {
			s.Fatal(err)
		}
		for text := range record.Messages(b.Messages) {
			var m hermes.Message
			if err := record.ReadMessage(text, &m); err != nil {
				s.Fatal(err)
			}
			all = append(all, m)
		}
	}
	return all
}

// Every form of publishing stores the same bytes, of any kind (hb-D28).
func TestForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, kind, body string
		header          []string
		want            []hermes.Message
	}{
		{
			"a text", kindJSON, `{"payload":"a+b & c % \u0000 😀"}`, nil,
			[]hermes.Message{{Payload: []byte("a+b & c % \x00 😀")}},
		},
		{"an empty text", kindJSON, `{"payload":""}`, nil, []hermes.Message{{}}},
		{"bytes", kindJSON, `{"payload_base64":"/wA="}`, nil, []hermes.Message{{Payload: []byte{0xff, 0}}}},
		{
			"key and headers", kindJSON + "; charset=utf-8",
			`{"payload":"p","key_base64":"/w==","headers":[{"name":"h","value":"v"},{"name":"h","value_base64":"/w=="},{"name":"e"}]}`, nil,
			[]hermes.Message{{
				Payload: []byte("p"), Key: []byte{0xff},
				Headers: []hermes.Header{
					{Name: "h", Value: []byte("v")},
					{Name: "h", Value: []byte{0xff}},
					{Name: "e"},
				},
			}},
		},
		{
			"a run", kindJSON, `{"messages":[{"payload":"1"},{"payload":"2","key":"k"}]}`, nil,
			[]hermes.Message{{Payload: []byte("1")}, {Payload: []byte("2"), Key: []byte("k")}},
		},
		{"octets", kindBytes, "\x00\xff\r\n", nil, []hermes.Message{{Payload: []byte("\x00\xff\r\n")}}},
		{"no octets", kindBytes, "", nil, []hermes.Message{{}}},
		{
			"octets with key and headers", kindBytes, "p",
			[]string{"Hermes-Key", "%FFk", "Hermes-Header", "a%3D=1%00", "Hermes-Header", "b="},
			[]hermes.Message{{Payload: []byte("p"), Key: []byte("\xffk"), Headers: []hermes.Header{
				{Name: "a=", Value: []byte("1\x00")}, {Name: "b"},
			}}},
		},
		{
			"protobuf", kindProto, "\x12\x03\x0a\x011\x12\x00\x12\x06\x0a\x012\x12\x01k", nil,
			[]hermes.Message{{Payload: []byte("1")}, {}, {Payload: []byte("2"), Key: []byte("k")}},
		},
		{
			"protobuf by its other name", "application/x-protobuf", "\x12\x03\x0a\x011", nil,
			[]hermes.Message{{Payload: []byte("1")}},
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			s := start(t, rest.Config{})
			s.topic("t")
			if strings.Contains(c.kind, ";") || strings.Contains(c.kind, "x-") {
				s.spec = undescribed() // the description names types alone
			}
			a := s.want(s.ask("POST", "/v1/topics/t/messages", c.body, append(c.header, "Content-Type", c.kind)...),
				200,
				`"offset":0,`)
			if !strings.Contains(a.body, fmt.Sprintf(`{"count":%d,`, len(c.want))) {
				t.Errorf("verdict %s", a.body)
			}
			if got := s.stored("t"); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("stored %q, want %q", got, c.want)
			}
		})
	}
}

// The modes say what their replies promise (hb-D06).
func TestModes(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	s.topic("t")
	s.want(s.ask("POST", "/v1/topics/t/messages?mode=consistent", "a", "Content-Type", kindBytes), 200,
		`"offset":0,"time":"20`)
	a := s.want(s.ask("POST", "/v1/topics/t/messages?mode=eventual", "a", "Content-Type", kindBytes), 200,
		`"provisional":true`)
	if strings.Contains(a.body, "offset") {
		t.Errorf("a provisional verdict has an offset: %s", a.body)
	}
	if a := s.ask("POST", "/v1/topics/t/messages?mode=performance", "a", "Content-Type",
		kindBytes); a.body != `{"count":1}` {
		t.Errorf("performance: %s", a.body)
	}
	s.want(s.ask("POST", "/v1/topics/t/messages?mode=best", "a", "Content-Type", kindBytes), 400, "mode")
	if got := len(s.stored("t")); got != 2 {
		t.Errorf("%d stored", got)
	}
}

// A message that is published again by its producer is stored once.
func TestIdempotent(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	s.topic("t")
	id := read[struct{ Producer string }](s, s.want(s.ask("POST", "/v1/producers", ""), 201, "producer")).Producer
	at := func(sequence int) string {
		return fmt.Sprintf("/v1/topics/t/messages?producer=%s&sequence=%d", id, sequence)
	}
	s.want(s.ask("POST", at(1), "a", "Content-Type", kindBytes), 200, `"duplicate":false`)
	s.want(s.ask("POST", at(1), "a", "Content-Type", kindBytes), 200, `"duplicate":true`)
	s.want(s.ask("POST", at(3), "a", "Content-Type", kindBytes), 409, `"conflict"`)
	s.want(s.post("/v1/publish", `{"runs":[{"topic":"t","producer":"`+id+
		`","sequence":1,"messages":[{"payload":"a"}]},{"topic":"t","producer":"`+id+
		`","sequence":2,"messages":[{"payload":"b"}]}]}`), 200, `"duplicate":true`)
	for _, query := range []string{
		"producer=" + id, "sequence=1", "producer=0&sequence=1", "producer=-1&sequence=1",
		"producer=" + id + "&sequence=0",
	} {
		s.want(s.ask("POST", "/v1/topics/t/messages?"+query, "a", "Content-Type", kindBytes), 400, "invalid_argument")
	}
	if got := s.stored("t"); len(got) != 2 {
		t.Errorf("stored %q", got)
	}
}

// A batch says of each run whether it was stored, and never that all were when
// they were not (hb-D16).
func TestBatchTellsEach(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	s.topic("t")
	a := s.want(s.post("/v1/publish",
		`{"runs":[{"topic":"t","messages":[{"payload":"1"},{"payload":"2"}]},{"topic":"none","messages":[{"payload":"3"}]},{"topic":"t","mode":"eventual","messages":[{"payload":"4"}]}]}`), 207, "")
	got := read[struct {
		Verdicts []struct {
			Count  int
			Offset *uint64
			Error  *struct{ Code string }
		}
	}](s, a)
	if v := got.Verdicts; len(v) != 3 || v[0].Count != 2 || v[0].Error != nil || v[1].Error == nil ||
		v[1].Error.Code != "not_found" || v[1].Offset != nil || v[2].Count != 1 {
		t.Errorf("%s", a.body)
	}
	if all := s.stored("t"); len(all) != 3 {
		t.Errorf("stored %q", all)
	}
	// Whatever is no batch at all stores nothing.
	for _, body := range []string{
		`{"runs":[]}`, `{}`,
		`{"runs":[` + strings.Repeat(`{"topic":"t","messages":[{"payload":"1"}]},`, 256) +
			`{"topic":"t","messages":[{"payload":"1"}]}]}`,
	} {
		s.want(s.post("/v1/publish", body), 400, "invalid_argument")
	}
	if all := s.stored("t"); len(all) != 3 {
		t.Errorf("stored %q", all)
	}
	// A run that is wrong in itself has its verdict, and the others theirs.
	s.spec = undescribed() // which lets none of these pass
	for i, bad := range []string{
		`{"topic":"t","messages":[]}`, `{"topic":"a\u0000b","messages":[{"payload":"1"}]}`,
		`{"topic":"t","mode":"3","messages":[{"payload":"1"}]}`,
		`{"topic":"t","producer":"x","messages":[{"payload":"1"}]}`,
	} {
		s.want(s.post("/v1/publish", `{"runs":[`+bad+`,{"topic":"t","messages":[{"payload":"1"}]}]}`), 207,
			`"code":"invalid_argument"`)
		if all := s.stored("t"); len(all) != 4+i {
			t.Errorf("%s: stored %q", bad, all)
		}
	}
}

// Past a bound, and outside the contract, a caller is notified by a code, and nothing is stored (hb-D26,
// hb-D27).
func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	s.topic("t")
	long := strings.Repeat("x", hermes.PayloadLimit+1)
	const to = "/v1/topics/t/messages"
	for _, c := range []struct {
		why, to, kind, body string
		status              int
		code                string
	}{
		{"a topic that is not there", "/v1/topics/none/messages", kindBytes, "x", 404, "not_found"},
		{"a name with a NUL", "/v1/topics/a%00b/messages", kindBytes, "x", 400, "invalid_argument"},
		{"a name with a slash", "/v1/topics/a%2Fb/messages", kindBytes, "x", 400, "invalid_argument"},
		{
			"a name that is too long", "/v1/topics/" + strings.Repeat("x", 250) + "/messages", kindBytes, "x", 400,
			"invalid_argument",
		},
		{"an unknown parameter", to + "?modes=eventual", kindBytes, "x", 400, "invalid_argument"},
		{"a parameter twice", to + "?mode=eventual&mode=consistent", kindBytes, "x", 400, "invalid_argument"},
		{"a broken escape", to + "?mode=%zz", kindBytes, "x", 400, "invalid_argument"},
		{"octets beyond the limit", to, kindBytes, long, 413, "invalid_argument"},
		{"a text beyond the limit", to, kindJSON, `{"payload":"` + long + `"}`, 400, "invalid_argument"},
		{
			"a body beyond the limit", to, kindJSON, `{"payload":"` + strings.Repeat("x", rest.JSONLimit) + `"}`, 413,
			"invalid_argument",
		},
		{"a run beyond the limit", to, kindProto, strings.Repeat("x", hermes.RunLimit+1), 413, "invalid_argument"},
		{"too many messages", to, kindProto, strings.Repeat("\x12\x00", hermes.RunMessages+1), 400, "invalid_argument"},
		{
			"too many messages in JSON", to, kindJSON,
			`{"messages":[` + strings.Repeat(`{"payload":""},`, hermes.RunMessages) +
				`{"payload":""}]}`, 400, "invalid_argument",
		},
		{
			"too many values", to, kindJSON, `{"messages":[` + strings.Repeat(`{},`, rest.ValueLimit) + `{}]}`, 400,
			"invalid_argument",
		},
		{"no messages", to, kindJSON, `{"messages":[]}`, 400, "invalid_argument"},
		{"an empty run", to, kindProto, "", 400, "invalid_argument"},
		{"no run", to, kindProto, "\x0a\x01t\x12\x00", 400, "invalid_argument"},
		{"a cut run", to, kindProto, "\x12\x05\x0a\x03a", 400, "invalid_argument"},
		{"no payload", to, kindJSON, `{"key":"k"}`, 400, "invalid_argument"},
		{"two payloads", to, kindJSON, `{"payload":"a","payload_base64":"YQ=="}`, 400, "invalid_argument"},
		{
			"a message and messages", to, kindJSON, `{"payload":"a","messages":[{"payload":"a"}]}`, 400,
			"invalid_argument",
		},
		{"an unknown field", to, kindJSON, `{"payload":"a","ttl":1}`, 400, "invalid_argument"},
		{"half a character", to, kindJSON, `{"payload":"\ud800"}`, 400, "invalid_argument"},
		{"no UTF-8", to, kindJSON, "{\"payload\":\"\xff\"}", 400, "invalid_argument"},
		{"no base64", to, kindJSON, `{"payload_base64":"?"}`, 400, "invalid_argument"},
		{"a number", to, kindJSON, `{"payload":1}`, 400, "payload"},
		{"no JSON", to, kindJSON, `{`, 400, "invalid_argument"},
		{"something behind", to, kindJSON, `{"payload":"a"} {}`, 400, "invalid_argument"},
		{"nothing", to, kindJSON, ``, 400, "invalid_argument"},
		{"a header without a name", to, kindJSON, `{"payload":"a","headers":[{"value":"v"}]}`, 400, "invalid_argument"},
		{
			"a key that is too long", to, kindJSON,
			`{"payload":"a","key":"` + strings.Repeat("k", hermes.KeyLimit+1) + `"}`,
			400, "invalid_argument",
		},
		{"another type", to, "text/plain", "x", 415, "invalid_argument"},
		{"no type", to, "", "x", 415, "invalid_argument"},
		{"a type that is none", to, "a;;", "x", 415, "invalid_argument"},
		{"no such method", "/v1/publish/", kindJSON, "{}", 404, "unimplemented"},
	} {
		a := s.ask("POST", c.to, c.body, "Content-Type", c.kind)
		if a.status != c.status || !strings.Contains(a.body, c.code) {
			t.Errorf("%s: %d %.200s; want %d %s", c.why, a.status, a.body, c.status, c.code)
		}
	}
	for _, header := range [][2]string{
		{"Hermes-Key", "%"},
		{"Hermes-Header", "x"},
		{"Hermes-Header", "%zz=1"},
		{"Hermes-Header", "=1"},
		{"Call-Timeout-Ms", "x"},
		{"Call-Timeout-Ms", "300001"},
	} {
		s.want(s.ask("POST", to, "x", "Content-Type", kindBytes, header[0], header[1]), 400, "invalid_argument")
	}
	if a := s.ask("PUT", to, "x"); a.status != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("a PUT: %d, %v", a.status, a.header)
	}
	if all := s.stored("t"); len(all) != 0 {
		t.Errorf("stored %q", all)
	}
	if n := s.api.Holding(); n != 0 {
		t.Errorf("%d bytes are still counted", n)
	}
}

// A publish whose caller gave up is answered at once, and its bytes are let go
// of only once the broker is done with them (hb-D14, hb-D15).
func TestAbandonedPublish(t *testing.T) {
	t.Parallel()
	var held broker.Run
	var done func(broker.Verdict)
	b := &scripted{Broker: memory(t), publish: func(_ context.Context, run broker.Run, d func(broker.Verdict)) {
		held, done = run, d
	}}
	s := start(t, rest.Config{Broker: b})
	s.want(s.ask("POST", "/v1/topics/t/messages", "first", "Content-Type", kindBytes, "Call-Timeout-Ms", "1"), 504,
		"deadline_exceeded")
	before := held
	if s.api.Holding() == 0 {
		t.Error("bytes that the broker still reads are not counted")
	}
	s.want(s.ask("POST", "/v1/topics/t/messages", "other", "Content-Type", kindBytes, "Call-Timeout-Ms", "1"), 504,
		"deadline_exceeded")
	if text := string(before.Messages); !strings.Contains(text, "first") {
		t.Errorf("another publisher's bytes: %q", text)
	}
	done(broker.Verdict{})
	if n := s.api.Holding(); n != int64(len("first")) {
		t.Errorf("%d bytes are counted; the first publish is still there", n)
	}
}

// Bodies beyond the API's memory are refused, not buffered.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	waiting := make(chan func(broker.Verdict), 1)
	b := &scripted{Broker: memory(t), publish: func(_ context.Context, _ broker.Run, d func(broker.Verdict)) {
		waiting <- d
	}}
	in := intake.New(intake.Options{Bytes: intake.Least, Patience: time.Millisecond})
	s := start(t, rest.Config{Broker: b, Intake: in})
	first := make(chan answer)
	if err := in.Admit(t.Context().Done(), intake.Least-8); err != nil {
		t.Fatal(err)
	}
	go func() {
		first <- s.ask("POST", "/v1/topics/t/messages", "12345678", "Content-Type", kindBytes)
	}()
	done := <-waiting
	a := s.want(s.ask("POST", "/v1/topics/t/messages", "123", "Content-Type", kindBytes), 429, "resource_exhausted")
	if a.header.Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
	if !strings.Contains(a.body, "16777216 bytes") || !strings.Contains(a.body, "--request-bytes") {
		t.Errorf("the bound is not named: %s", a.body)
	}
	done(broker.Verdict{Count: 1})
	s.want(<-first, 200, `{"count":1}`)
	go func() {
		first <- s.ask("POST", "/v1/topics/t/messages", "123", "Content-Type", kindBytes)
	}()
	(<-waiting)(broker.Verdict{Count: 1})
	s.want(<-first, 200, `{"count":1}`)
}

// Each code has a status, its body says the code, and internal details stay inside.
func TestFailures(t *testing.T) {
	t.Parallel()
	var verdict error
	leader := broker.Member{ID: 7, HTTP: "10.0.0.7:8080"}
	b := &scripted{Broker: memory(t), leader: &leader, publish: func(_ context.Context, _ broker.Run,
		done func(broker.Verdict),
	) {
		done(broker.Verdict{Err: verdict})
	}}
	s := start(t, rest.Config{Broker: b})
	statuses := map[status.Code]int{
		status.Internal: 500, status.InvalidArgument: 400, status.NotFound: 404, status.Conflict: 409,
		status.PermissionDenied: 403, status.Unauthenticated: 401,
		status.ResourceExhausted: 429, status.DeadlineExceeded: 504, status.Canceled: 499, status.Unavailable: 503,
		status.Unimplemented: 501,
	}
	for _, code := range status.Codes() {
		verdict = status.Errorf(code, "said \xff\"so\"")
		a := s.want(s.ask("POST", "/v1/topics/t/messages", "x", "Content-Type", kindBytes), statuses[code],
			code.String())
		if got := read[struct{ Detail, Leader string }](s, a); got.Detail != "said \uFFFD\"so\"" ||
			(got.Leader != "") != (code == status.Unavailable) {
			t.Errorf("%s: %+v", code, got)
		}
		if a.header.Get("X-Leader-Hint") != leader.HTTP {
			t.Errorf("%s: no hint", code)
		}
	}
	verdict = fmt.Errorf("secret inside")
	if a := s.ask("POST", "/v1/topics/t/messages", "x", "Content-Type", kindBytes); a.status != 500 ||
		strings.Contains(a.body, "secret") {
		t.Errorf("%d %s", a.status, a.body)
	}
	b.publish = func(context.Context, broker.Run, func(broker.Verdict)) { panic("secret") }
	if a := s.ask("POST", "/v1/topics/t/messages", "x", "Content-Type", kindBytes); a.status != 500 ||
		strings.Contains(a.body, "secret") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// The deadline of a call reaches the broker, and so does its caller's leaving.
func TestDeadlineReachesTheBroker(t *testing.T) {
	t.Parallel()
	var left time.Duration
	b := &scripted{Broker: memory(t), publish: func(ctx context.Context, _ broker.Run, done func(broker.Verdict)) {
		if at, ok := ctx.Deadline(); ok {
			left = time.Until(at)
		}
		done(broker.Verdict{Count: 1})
	}}
	s := start(t, rest.Config{Broker: b})
	for text, most := range map[string]time.Duration{
		"": rest.CallTime, "250000": 250 * time.Second,
		"60000": time.Minute,
	} {
		var header []string
		if text != "" {
			header = []string{"Call-Timeout-Ms", text}
		}
		left = 0
		s.want(s.ask(http.MethodPost, "/v1/topics/t/messages", "x", append(header, "Content-Type", kindBytes)...),
			200, "")
		if left <= most-30*time.Second || left > most {
			t.Errorf("%q: %v left, want about %v", text, left, most)
		}
	}
}
