package bind_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// httpServe serves service over HTTP/1.1 in the clear until the test ends and
// returns its URL. What it serves every server of plain HTTP serves.
func httpServe(t *testing.T, service logging.Service) string {
	t.Helper()
	for _, b := range bind.HTTP() {
		if b.Protocol.Name == "http1-json" {
			address, _ := pair{Binding: b, Server: b.Servers[0]}.Serve(t, service)
			return "http://" + address
		}
	}
	t.Fatal("there is no http1-json")
	return ""
}

// envelope is what the published clients read of every reply.
type envelope struct {
	Error   bool   `json:"error"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

// replied is a reply as it came.
type replied struct {
	status int
	kind   string // Content-Type
	body   string
}

// httpAsk makes a request; each of header is a name and a value.
func httpAsk(t *testing.T, method, url, body string, header ...string) replied {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return replied{resp.StatusCode, resp.Header.Get("Content-Type"), string(data)}
}

// A client shaped as the origin's: indented JSON of name and data by a client of
// net/http, of whose reply it looks at the status and no more, and whose body it
// leaves unread (ms-F13, ms-F20, ms-M03).
func TestPublishedHTTP(t *testing.T) {
	t.Parallel()
	memory := logging.New()
	at := httpServe(t, memory) + "/log"
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	const calls = 5
	for i := range calls {
		body, err := json.MarshalIndent(map[string]string{"name": "event", "data": fmt.Sprint("data ", i)}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 { // the origin's broker says so, its authentication does not
			r.Header.Set("Content-Type", "application/json")
		}
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := reply.Body.Close(); err != nil || reply.StatusCode != http.StatusAccepted {
			t.Errorf("status %d, %v", reply.StatusCode, err)
		}
	}
	got := inStore(t, memory)
	if len(got) != calls || got[0] != "event=data 0" || got[calls-1] != "event=data 4" {
		t.Errorf("stored are %q", got)
	}
	var e envelope
	reply := httpAsk(t, "POST", at, `{"name":"event","data":"x","id":"mine","severity":3}`)
	if err := json.Unmarshal([]byte(reply.body), &e); err != nil || reply.status != 202 ||
		reply.kind != "application/json" ||
		reply.body != `{"error":false,"message":"logged","data":{"id":"mine"}}` || e.Error || e.Message != "logged" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestNothingIsStoredForNonsense checks that an invalid entry is refused with the reason in the origin's envelope,
// and that no empty record is stored for it (ms-D02).
func TestNothingIsStoredForNonsense(t *testing.T) {
	t.Parallel()
	memory := logging.New()
	at := httpServe(t, memory) + "/log"
	for _, k := range []struct {
		why, body string
		status    int
	}{
		{"nothing", ``, 400},
		{"a space", ` `, 400},
		{"words", `name=event`, 400},
		{"half an object", `{"name":"event","data":"x"`, 400},
		{"half a text", `{"name":"event`, 400},
		{"two objects", `{"name":"a"}{"name":"b"}`, 400},
		{"an object and more", `{"name":"a"} x`, 400},
		{"a comma too many", `{"name":"a",}`, 400},
		{"null", `null`, 400},
		{"a list", `[{"name":"a"}]`, 400},
		{"a text", `"event"`, 400},
		{"a number", `7`, 400},
		{"an object of nothing", `{}`, 400},
		{"the broker's envelope, one too deep", `{"action":"log","log":{"name":"a","data":"b"}}`, 400},
		{"a name that is null", `{"name":null,"data":"x"}`, 400},
		{"a name that is empty", `{"name":"","data":"x"}`, 400},
		{"a name that is a number", `{"name":7,"data":"x"}`, 400},
		{"data that are an object", `{"name":"a","data":{"b":"c"}}`, 400},
		{"an id that is none", `{"name":"a","id":"a/b"}`, 400},
		{"an id that is a number", `{"name":"a","id":7}`, 400},
		{"NUL", `{"name":"a","data":"\u0000"}`, 400},
		{"bytes that are not UTF-8", "{\"name\":\"a\",\"data\":\"\xff\"}", 400},
		{"a name that is too long", `{"name":"` + strings.Repeat("n", logging.NameLimit+1) + `"}`, 400},
		{"data that are too long", `{"name":"a","data":"` + strings.Repeat("d", logging.DataLimit+1) + `"}`, 400},
		{"too much of anything", `{"name":"a","data":"` + strings.Repeat("d", wirelab.MessageLimit) + `"}`, 413},
		{"a hundred thousand lists", strings.Repeat("[", 100_000), 400},
	} {
		got := httpAsk(t, "POST", at, k.body, "Content-Type", "application/json")
		var e envelope
		err := json.Unmarshal([]byte(got.body), &e)
		if err != nil || got.status != k.status || !e.Error || e.Message == "" || e.Data != nil {
			t.Errorf("%s: %d, %s, %.300s, %v; want %d and why", k.why, got.status, got.kind, got.body, err, k.status)
		}
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/xml", "avro/binary"} {
		if got := httpAsk(t, "POST", at, `{"name":"a"}`, "Content-Type", kind); got.status != 415 {
			t.Errorf("as %s: %+v", kind, got)
		}
	}
	if got := httpAsk(t, "POST", at, "\x0a\x00", "Content-Type", "application/protobuf"); got.status != 400 {
		t.Errorf("an entry of nothing in protobuf: %+v", got)
	}
	if got := httpAsk(t, "POST", at, "", "Content-Type", "application/protobuf"); got.status != 400 ||
		!strings.Contains(got.body, "no logEntry") {
		t.Errorf("no entry in protobuf: %+v", got)
	}
	if got := inStore(t, memory); len(got) > 0 {
		t.Errorf("stored are %q", got)
	}
}

// TestEntriesByHand makes the requests other than POST /log by hand: paths, methods and bodies as any tool would
// send and see them.
func TestEntriesByHand(t *testing.T) {
	t.Parallel()
	memory := logging.New()
	base := httpServe(t, memory)
	for i, id := range []string{"a", "b", "c"} {
		if _, err := memory.WriteLog(t.Context(), entry{ID: id, Name: fmt.Sprint("n", i%2), Data: `<é>`}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := memory.ListEntries(t.Context(), query{})
	if err != nil {
		t.Fatal(err)
	}
	shown := func(i int) string { // in the order of the list
		s := list.Entries[i]
		data, err := json.Marshal(s.Data)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"id":"%s","name":"%s","data":%s,"position":%d,"stored_at":"%s"}`,
			s.ID, s.Name, data, s.Position, s.At.Format("2006-01-02T15:04:05.999999Z"))
	}
	since := url.QueryEscape(list.Entries[2].At.Format(time.RFC3339Nano))
	for _, k := range []struct {
		why, method, target string
		status              int
		want                string // "": any
	}{
		{"one", "GET", "/entries/b", 200, shown(1)},
		{"unknown", "GET", "/entries/x", 404, ""},
		{"no id", "GET", "/entries/", 404, ""},
		{"a step up", "GET", "/entries/%2e%2e", 400, ""},
		{"all", "GET", "/entries", 200, `{"entries":[` + shown(0) + "," + shown(1) + "," + shown(2) + `]}`},
		{"a page", "GET", "/entries?limit=2", 200, `{"entries":[` + shown(0) + "," + shown(1) + `],"next":2}`},
		{"the next", "GET", "/entries?limit=2&before=2", 200, `{"entries":[` + shown(2) + `]}`},
		{"of a name", "GET", "/entries?name=n1", 200, `{"entries":[` + shown(1) + `]}`},
		{
			"since", "GET", "/entries?since=" + since + "&until=9999-01-01T00:00:00Z&limit=1", 200,
			`{"entries":[` + shown(0) + `],"next":3}`,
		},
		{
			"empty parameters", "GET", "/entries?name=&since=&until=&before=", 200,
			`{"entries":[` + shown(0) + "," + shown(1) + "," + shown(2) + `]}`,
		},
		{"none: a list, not null", "GET", "/entries?name=absent", 200, `{"entries":[]}`},
		{"an unknown parameter", "GET", "/entries?names=n1", 400, ""},
		{"a limit that is none", "GET", "/entries?limit=ten", 400, ""},
		{"a position that is none", "GET", "/entries?before=1.5", 400, ""},
		{"a time that is none", "GET", "/entries?since=yesterday", 400, ""},
		{"too fine a time", "GET", "/entries?since=2024-01-01T00:00:00.0000001Z", 400, ""},
		{"a removal of everything by mistake", "DELETE", "/entries", 400, ""},
		{"a removal of everything by an empty time", "DELETE", "/entries?before=", 400, ""},
		{"a removal by a position", "DELETE", "/entries?before=3", 400, ""},
		{"a removal of one, which there is not", "DELETE", "/entries/a", 405, ""},
		{"a method that there is not", "PUT", "/entries", 405, ""},
		{"GET of the address for writing", "GET", "/log", 405, ""},
		{"a path that there is not", "POST", "/logs", 404, ""},
		{"a removal of nothing", "DELETE", "/entries?before=2001-01-01T00:00:00Z", 200, `{"count":0}`},
		{"a heartbeat (ms-F10)", "GET", "/ping", 200, "."},
		{"health", "GET", "/health", 200, `{"status":"healthy"}`},
	} {
		got := httpAsk(t, k.method, base+k.target, "")
		if got.status != k.status || k.want != "" && got.body != k.want ||
			k.status >= 400 && !strings.HasPrefix(got.body, `{"error":true,`) {
			t.Errorf("%s: %+v\nwant %d %s", k.why, got, k.status, k.want)
		}
	}
	if got := httpAsk(t, "DELETE", base+"/entries?before=9999-01-01T00:00:00Z", "{}"); got.status != 400 {
		t.Errorf("a removal with a body: %+v", got)
	}
	if got := inStore(t, memory); len(got) != 3 {
		t.Errorf("left are %q", got)
	}
	if got := httpAsk(t, "DELETE", base+"/entries?before=9999-01-01T00:00:00Z", ""); got.status != 200 ||
		got.body != `{"count":3}` {
		t.Errorf("a removal: %+v", got)
	}
}

// away is a service whose store is away.
type away struct{ logging.Service }

func (away) Ready(context.Context) error {
	return wirelab.Errorf(wirelab.Unavailable, "the store is away")
}

func (away) WriteLog(context.Context, entry) (logging.Written, error) {
	return logging.Written{}, wirelab.Errorf(wirelab.Unavailable, "the store is away")
}

// A store that is away is the server's failure and not the caller's (ms-D17),
// and health tells of it where the heartbeat does not (ms-D15).
func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	base := httpServe(t, away{logging.New()})
	for target, want := range map[string]int{"/health": 503, "/ping": 200} {
		if got := httpAsk(t, "GET", base+target, ""); got.status != want {
			t.Errorf("%s: %+v", target, got)
		}
	}
	got := httpAsk(t, "POST", base+"/log", `{"name":"event"}`)
	if got.status != 503 || !slices.Contains(strings.Split(got.body, `"`), "the store is away") {
		t.Errorf("%+v", got)
	}
}
