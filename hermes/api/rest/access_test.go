package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"wirelab/hermes/access"
	"wirelab/hermes/api/rest"
)

// A policy's principals do what it lets them, on mounted APIs as on this one; health is public (hb-D25).
func TestPolicy(t *testing.T) {
	t.Parallel()
	token, hash := access.NewToken()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	text := fmt.Sprintf("principals:\n  - name: shop\n    tokens: [%s]\n    publish: [orders]\n", hash)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	policy, err := access.Load(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	m := memory(t)
	var caller access.Principal
	s := start(t, rest.Config{
		Broker: access.Wrap(m, policy), Access: policy, Token: "counts no more",
		Mounts: map[string]func(context.Context) http.Handler{
			"/graphql": func(context.Context) http.Handler {
				return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					caller, _ = access.From(r.Context())
				})
			},
		},
	})
	s.memory = m
	for _, topic := range []string{"orders", "other"} {
		open := start(t, rest.Config{Broker: m})
		open.topic(topic)
	}
	bearer := []string{"Content-Type", kindBytes, "Authorization", "Bearer " + token}
	s.want(s.ask("POST", "/v1/topics/orders/messages", "x", bearer...), 200, `"offset":0`)
	s.want(s.ask("POST", "/v1/topics/other/messages", "x", bearer...), 403, "permission_denied")
	s.want(s.ask("GET", "/v1/topics/orders/events", "", "Authorization", "Bearer "+token), 403, "permission_denied")
	s.want(s.ask("POST", "/v1/topics/orders/messages", "x", "Content-Type", kindBytes), 401, "unauthenticated")
	s.want(s.ask("POST", "/v1/topics/orders/messages", "x", "Content-Type", kindBytes, "Authorization",
		"Bearer counts no more"), 401, "unauthenticated")
	s.want(s.ask("GET", "/v1/health/ready", ""), 200, "ready")
	s.want(s.ask("POST", "/graphql", "{}", "Content-Type", kindJSON), 401, "unauthenticated")
	s.spec = undescribed()
	s.want(s.ask("POST", "/graphql", "{}", bearer...), 200, "")
	if want, err := policy.Authenticate(token); err != nil || caller != want {
		t.Errorf("the mounted door is called by %v, want %v: %v", caller, want, err)
	}
}
