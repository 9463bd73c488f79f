package rest_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/hermes/access"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/endpoint"
)

// granted is a policy file of those principals, each with the token that is returned
// for its name; "$name" is the hash of that.
func granted(t *testing.T, text string) (policy *access.Policy, file string, tokens map[string]string) {
	t.Helper()
	tokens = map[string]string{}
	text = os.Expand(text, func(name string) string {
		token, hash := access.NewToken()
		tokens[name] = token
		return hash
	})
	file = filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	policy, err := access.Load(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return policy, file, tokens
}

// Over a real connection: a token is asked for, rights and quotas are held to, health is
// open, and a subscription ends when its right does. (hb-D25)
func TestAccess(t *testing.T) {
	t.Parallel()
	policy, file, tokens := granted(t, `principals:
  - {name: a, tokens: [$a], publish: [t], subscribe: [t], quota: {messages_per_second: 2, subscriptions: 1}}
  - {name: b, tokens: [$b], subscribe: [u], admin: [u]}
`)
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	for _, topic := range []string{"t", "u"} {
		if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: topic}); err != nil {
			t.Fatal(err)
		}
	}
	mounted := func(context.Context) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who, _ := access.From(r.Context())
			_, _ = io.WriteString(w, who.Name())
		})
	}
	api, err := rest.New(rest.Config{
		Broker: access.Wrap(m, policy), Access: policy, Mounts: map[string]func(context.Context) http.Handler{
			"/graphql": mounted,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, endpoint.Endpoint{Listener: l}, false) }()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	ask := func(who, method, path, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if who != "" {
			r.Header.Set("Authorization", "Bearer "+tokens[who])
		}
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { reply.Body.Close() })
		return reply
	}
	want := func(who, method, path, body string, status int, says string) {
		t.Helper()
		reply := ask(who, method, path, body) //nolint:bodyclose // ask closes it with the test
		text, err := io.ReadAll(reply.Body)
		if err != nil || reply.StatusCode != status || !strings.Contains(string(text), says) {
			t.Errorf("%s %s by %q: %s %s, %v; want %d and %q", method, path, who, reply.Status, text, err, status, says)
		}
		for _, token := range tokens {
			if strings.Contains(string(text), token) {
				t.Errorf("%s %s shows a token", method, path)
			}
		}
	}
	for _, open := range []string{"/v1/health/live", "/v1/health/ready", "/v1/openapi.json"} {
		want("", "GET", open, "", 200, "")
	}
	for _, path := range []string{
		"/v1/topics", "/v1/cluster", "/status", "/graphql", "/v1/topics/t/events",
		"/subscribe?topic=t",
	} {
		want("", "GET", path, "", 401, "token")
		want("stranger", "GET", path, "", 401, "token")
	}
	want("b", "GET", "/graphql", "", 200, "b")
	want("a", "POST", "/v1/topics/t/messages", `{"payload":"x"}`, 200, "offset")
	want("a", "POST", "/v1/topics/u/messages", `{"payload":"x"}`, 403, "permission_denied")
	want("b", "POST", "/publish", `{"topic":"u","payload":"x"}`, 403, "")
	want("a", "POST", "/v1/topics/t/messages", `{"messages":[{"payload":"x"},{"payload":"y"}]}`, 429,
		"resource_exhausted")
	want("b", "DELETE", "/v1/topics/t", "", 403, "permission_denied")
	want("b", "POST", "/v1/cluster/leader", `{"to":"1"}`, 403, "")
	want("a", "GET", "/v1/topics/u", "", 403, "permission_denied")
	want("b", "GET", "/v1/topics", "", 200, `"u"`)
	want("a", "GET", "/v1/cluster", "", 200, "memory")

	events := ask("a", "GET", "/v1/topics/t/events?from=oldest", "") //nolint:bodyclose // likewise
	lines := bufio.NewScanner(events.Body)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the stream ended without %q: %v", text, lines.Err())
	}
	until(`"x"`)
	want("a", "GET", "/v1/topics/t/events", "", 429, "resource_exhausted")
	if err := os.WriteFile(file, []byte("principals:\n  - {name: b, tokens: ["+access.Hash(tokens["b"])+
		"], subscribe: [u]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := policy.Reload(t.Context()); !changed || err != nil {
		t.Fatal(changed, err)
	}
	until("unauthenticated") // the event "failure"
	want("a", "POST", "/v1/topics/t/messages", `{"payload":"x"}`, 401, "token")
}
