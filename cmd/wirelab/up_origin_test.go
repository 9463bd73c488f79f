package main

import (
	"net/http"
	"strings"
	"testing"

	"wirelab/cmd/internal/desk"
)

// The pages of an origin that was named may call the gateway, as the origin's front end on another port does; those of
// others still may not.
func TestUpAllowsOrigin(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	p, status := rise(t, nil, "--broker", "none", "--db", "memory", "--allow-origin", "http://localhost")
	for origin, want := range map[string]int{
		"http://localhost":         http.StatusAccepted,
		"http://elsewhere.example": http.StatusForbidden,
	} {
		body := strings.NewReader(`{"action":"log","log":{"name":"event","data":"from a page"}}`)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, status.Gateway+"/handle", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Origin", origin)
		request.Header.Set("Content-Type", "application/json")
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close()
		allowed := reply.Header.Get("Access-Control-Allow-Origin")
		if reply.StatusCode != want || (allowed == origin) != (want == http.StatusAccepted) {
			t.Errorf("%s: status %d, allowed %q; want %d", origin, reply.StatusCode, allowed, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	p.interrupt()
	p.want(desk.ExitOK)
	newShell(t).run("up", "logging", "--allow-origin", "lab.example/").wants(t, desk.ExitUsage, nil,
		[]string{"--allow-origin", "http://localhost"})
}
