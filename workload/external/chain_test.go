package external_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/external"
	"wirelab/workload/external/grpcschema"
)

// shop is a service that requires a login. Each login gets a new token and a session.
type shop struct {
	logins, lists, buys atomic.Int64
	spoil               string // the fault to inject
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reply := func(status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value) // an error means that the client is gone
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	cookie, _ := r.Cookie("session")
	switch {
	case r.URL.Path == "/v1/login":
		n := s.logins.Add(1)
		var who struct{ User string }
		_ = json.NewDecoder(r.Body).Decode(&who)
		token := fmt.Sprintf("token-of-%s-%06d", who.User, n)
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "session-" + token})
		switch s.spoil {
		case "no token":
			reply(http.StatusOK, map[string]any{"user": who.User})
		case "another form":
			reply(http.StatusOK, map[string]any{"token": token, "user": who.User, "n": n})
		default:
			reply(http.StatusOK, map[string]any{"token": token, "user": who.User})
		}
	case !strings.HasPrefix(token, "token-of-"):
		reply(http.StatusUnauthorized, map[string]any{"error": "who are you?"})
	case cookie == nil || cookie.Value != "session-"+token:
		reply(http.StatusForbidden, map[string]any{"error": "the session is not that of " + token})
	case r.URL.Path == "/v1/items":
		n := s.lists.Add(1)
		if s.spoil == "echo" {
			reply(http.StatusOK, map[string]any{"for": token, "n": n, "items": []any{map[string]any{"id": 7}}})
			return
		}
		w.Header().Set("Location", "http://"+r.Host+"/v1/items/9007199254740993")
		reply(http.StatusOK, map[string]any{"items": []any{map[string]any{"id": 9007199254740993, "name": "a lamp"}}})
	case r.URL.Path == "/v1/items/9007199254740993" && r.Method == http.MethodPost:
		var order struct{ ID json.Number }
		if json.NewDecoder(r.Body).Decode(&order) != nil || order.ID != "9007199254740993" || s.spoil == "refusal" {
			reply(http.StatusTeapot, map[string]any{"error": "no"})
			return
		}
		s.buys.Add(1)
		reply(http.StatusCreated, map[string]any{"bought": order.ID})
	default:
		reply(http.StatusNotFound, map[string]any{"error": r.URL.Path})
	}
}

// shopText is its description. %[1]s is its address, and %[2]s additional text for the steps.
const shopText = `
service: shop
wires:
  rest: {target: "http://%[1]s/v1", cookies: true}
operations:
  login: {calls: {rest: {method: POST, path: /login, body: {user: "{{.user}}"}}}, ignore: [/token]}
  list: {calls: {rest: {path: /items, headers: {Authorization: "Bearer {{.token}}"}}}}
  buy:
    calls: {rest: {method: POST, path: "{{.at}}", headers: {Authorization: "Bearer {{.token}}"}, body: {id: "{{.id}}"}}}
  checkout:
    rows: users.ndjson
    steps:
      - {call: login, save: {token: /token}}
      - {call: list, save: {id: /items/0/id, at: "header:Location"}}
      - {call: buy}
`

// prepared is a description, ready, as a driver gets it.
func prepared(t *testing.T, text string) (external.Prepared, error) {
	t.Helper()
	d, err := external.Parse("shop.yaml", []byte(text))
	if err != nil {
		return external.Prepared{}, err
	}
	p, _, err := external.Prepare(t.Context(), d, external.Sources{
		Getenv: os.Getenv,
		Read: func(_ context.Context, name string) ([]byte, error) {
			if name != "users.ndjson" {
				return nil, wirelab.Errorf(wirelab.NotFound, "%s is not there", name)
			}
			return []byte("{\"user\": \"ann\"}\n{\"user\": \"bob\"}\n"), nil
		},
		Schema: func(ctx context.Context, _ external.Wire, _ external.WireText) (*grpcschema.Schema, error) {
			return grpcschema.Compile(ctx, []string{"../routeguide/schema/route_guide.proto"}, nil)
		},
	})
	if err != nil {
		return p, err
	}
	line, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return external.ParsePrepared(line)
}

// dialled is a client of a wire of a service.
func dialled(t *testing.T, p external.Prepared, wire, address string) wirelab.Stepping {
	t.Helper()
	cell, err := p.Cell(wire)
	if err != nil {
		t.Fatal(err)
	}
	client, err := cell.Dial(t.Context(), wirelab.Dialing{Address: address, Foreign: true, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	stepping, ok := client.(wirelab.Stepping)
	if !ok {
		t.Fatalf("%T does not time steps", client)
	}
	return stepping
}

// opened is a shop with its description, with other texts in the place of some.
func opened(t *testing.T, broken string, other ...string) (*shop, string, external.Prepared) {
	t.Helper()
	s := &shop{spoil: broken}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	p, err := prepared(t, strings.NewReplacer(other...).Replace(fmt.Sprintf(shopText, address)))
	if err != nil {
		t.Fatal(err)
	}
	return s, address, p
}

// A chain logs in, lists and acts with what came back, again and again; numbers stay what they are, and a Location is a
// path of the same wire.
func TestChain(t *testing.T) {
	s, address, p := opened(t, "")
	client := dialled(t, p, "rest", address)
	if got := strings.Join(client.Steps("checkout"), " "); got != "login list buy" || client.Steps("login") != nil {
		t.Fatalf("steps %q", got)
	}
	took := make([]time.Duration, 3)
	call, err := client.StepCaller("checkout", "", 1, took)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		clear(took)
		if err := call(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, d := range took {
			if d <= 0 {
				t.Errorf("step %d took %v", i+1, d)
			}
		}
	}
	learnt := strings.Join(client.(interface{ Learnt() []string }).Learnt(), "\n")
	if !strings.Contains(learnt, "checkout.1 0 ") || !strings.Contains(learnt, "checkout.1 1 ") ||
		strings.Contains(learnt, "checkout.2") {
		t.Errorf("learnt %s", learnt)
	}
	if s.logins.Load() != 5 || s.lists.Load() != 5 || s.buys.Load() != 5 {
		t.Errorf("%d logins, %d lists, %d buys", s.logins.Load(), s.lists.Load(), s.buys.Load())
	}
}

// What goes wrong names the step, is counted by its cause, and shows nothing that was saved.
func TestChainThatFails(t *testing.T) {
	for broken, c := range map[string]struct {
		other []string
		cause string // "": a wrong reply
		says  string
	}{
		"no token": {
			cause: "nothing to save",
			says: "step 1 (login): the reply has nothing at /token, which is to be " +
				"saved as token",
		},
		"refusal": {cause: "status 418", says: "step 3 (buy): status 418 I'm a teapot"},
		"nowhere": {other: []string{"{{.at}}", "/nowhere"}, cause: "status 404", says: "step 3 (buy): status 404"},
		"varied": {
			other: []string{", ignore: [/token]", ""},
			says: "reply to step 1 (login): with other saved values (not shown), want those of the first " +
				"reply; " +
				"if they differ from reply to reply, write ignore: [/token] in operation login",
		},
		"another form": {says: "reply to step 1 (login): "},
		"echo": {
			other: []string{
				", at: \"header:Location\"", "", "{{.at}}", "/items", "\"Bearer {{.token}}\"}}}}",
				"\"Bearer {{.token}}\"}}}, expect: learnt}",
			},
			cause: "", says: "reply to step 2 (list): ",
		},
		"no location": {
			other: []string{"header:Location", "header:X-Next"}, cause: "nothing to save",
			says: "step 2 (list): the reply has no header X-Next",
		},
		"bad path": {
			other: []string{"header:Location", "/items/0/name"}, cause: "nothing to save",
			says: "step 3 (buy): what earlier steps saved makes no request of it: its path does not begin with " +
				"a slash",
		},
	} {
		t.Run(broken, func(t *testing.T) {
			_, address, p := opened(t, broken, c.other...)
			call, err := dialled(t, p, "rest", address).Caller("checkout", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			for range 8 {
				if err = call(t.Context()); err != nil {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %s", err, c.says)
			}
			for _, secret := range []string{"token-of-", "session-"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("it shows %s…: %v", secret, err)
				}
			}
			var wrong *wirelab.Mismatch
			if is := errors.As(err, &wrong); is != (c.cause == "") {
				t.Errorf("a wrong reply: %v, of %v", is, err)
			} else if !is && string(wirelab.CauseOf(err)) != c.cause {
				t.Errorf("cause %q, want %q", wirelab.CauseOf(err), c.cause)
			}
		})
	}
}

// The raw driver refuses a chain, and says why; and a step that needs what came before says what to measure.
func TestChainIsNotForTheRawDriver(t *testing.T) {
	_, address, p := opened(t, "", "cookies: true", "cookies: false")
	cell, err := p.Cell("rest")
	if err != nil {
		t.Fatal(err)
	}
	const why = "a chain of calls has requests that are not known beforehand"
	if p.RawWhy("checkout", "rest") != why || cell.RawHoles["checkout"] != why {
		t.Errorf("%q, %q", p.RawWhy("checkout", "rest"), cell.RawHoles["checkout"])
	}
	_, err = cell.DialRaw(t.Context(), wirelab.Dialing{Address: address}, 1, "checkout", "", 0)
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v", err)
	}
	if hole := cell.Holes["list"]; !strings.Contains(hole, "measure checkout") {
		t.Errorf("list: %q", hole)
	}
}

// A trial of a chain shows what came, and nothing that was saved of it.
func TestChainIsTried(t *testing.T) {
	_, address, p := opened(t, "")
	trial, err := p.Try(t.Context(), "rest", wirelab.Dialing{Address: address, Foreign: true}, "checkout", true)
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%s %s %s %+v", trial.Text, trial.Request.URL, trial.Request.Body, trial.Request.Fields)
	if strings.Contains(shown, "token-of-") || !strings.Contains(shown, `"a lamp"`) ||
		!strings.Contains(shown, `"token":"(secret)"`) {
		t.Errorf("%s", shown)
	}
	const says = "step 2 (list): replies not compared beyond their status (OK or 2xx), since its request has what " +
		"earlier steps saved"
	if got := p.Says("rest", "checkout"); !strings.Contains(got, says) {
		t.Errorf("%s", got)
	}
	var all strings.Builder
	for _, o := range p.Operations {
		if o.Name == "checkout" {
			for _, text := range o.Calls["rest"].Texts(p.Wires[0]) {
				all.WriteString(text)
			}
		}
	}
	for _, want := range []string{
		"step 1 (login)\nPOST /v1/login", `{"user":"bob"}`, "step 3 (buy)\nPOST {{.at}}",
		"Authorization: Bearer {{.token}}",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%s is not in\n%s", want, all.String())
		}
	}
}

// TestChainIsRefused checks that a mistake in the description of a chain is reported with a correction.
func TestChainIsRefused(t *testing.T) {
	for _, c := range []struct{ was, is, says string }{
		{"call: list", "call: lisst", `operations.checkout.steps: step 2: unknown operation "lisst"`},
		{"call: list", "call: checkout", "checkout is a chain itself"},
		{
			"token: /token", "token: token",
			`step 1 (login): save: token: "token" is no JSON pointer; one begins with a slash`,
		},
		{"token: /token", "my-token: /token", "must be a name like token"},
		{"header:Location", "header:", "names no header"},
		{"token: /token", "user: /token", "the rows have a field of that name"},
		{
			"token: /token", "other: /token",
			`step 2 (list): users.ndjson:1 has no field "token", and no earlier step saves it`,
		},
		{
			"    rows: users.ndjson\n", "",
			"step 1 (login): it asks for {{.user}}, and no earlier step saves anything; let " +
				"an earlier step save it, or give the chain rows",
		},
		{"    rows: users.ndjson\n", "    expect: status\n", "said of the operations that are the steps"},
		{"    rows: users.ndjson\n", "    calls: {rest: {path: /}}\n", "it has calls and steps"},
		{"buy:\n    calls: {rest:", "buy:\n    calls: {other:", "no wire has a call for each of them"},
		{`body: {id: "{{.id}}"}}}`, `body: {id: "{{.id}}"}}}` + "\n    expect: recorded", "no recorded reply is of it"},
		{`{id: "{{.id}}"}`, `["` + strings.Repeat("{{.id}}", 65) + `"]`, "at most 64 are filled in each call"},
		{"      - {call: buy}\n", strings.Repeat("      - {call: buy}\n", 32), "a chain has at most 32"},
	} {
		text := fmt.Sprintf(shopText, "localhost:1")
		text = strings.Replace(text, c.was, c.is, 1)
		text = strings.Replace(text, "operations:\n", "  other: {target: \"http://localhost:2\"}\noperations:\n", 1)
		if _, err := prepared(t, text); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v\nwant %s", c.is, err, c.says)
		}
	}
}

// No description with steps makes the reader or what prepares it panic.
func FuzzChain(f *testing.F) {
	f.Add(fmt.Sprintf(shopText, "localhost:1"))
	f.Add("service: s\nwires: {a: {target: 'http://h'}}\noperations:\n  x: {calls: {a: {path: '/{{.y}}'}}}\n  c: " +
		"{steps: [{call: x}]}\n")
	f.Add("service: s\nwires: {a: {target: 'grpc://h'}}\noperations:\n  x: {calls: {a: {call: " +
		"routeguide.RouteGuide/GetFeature, message: '{{.p}}'}}}\n  c: {steps: [{call: x, save: {p: " +
		"/location/~1~0/0}}, " +
		"{call: x}]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := prepared(t, text)
		if err != nil {
			return
		}
		for _, o := range p.Operations {
			for wire, calls := range o.Calls {
				_ = p.Says(wire, o.Name)
				_ = p.RawWhy(o.Name, wire)
				for _, w := range p.Wires {
					_ = calls.Texts(w)
				}
			}
		}
	})
}
