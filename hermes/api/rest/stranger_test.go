package rest_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"wirelab/hermes/api/rest"
	"wirelab/wire/status"
)

// Without the token nothing is said or done, on mounted APIs neither (hb-D25).
func TestToken(t *testing.T) {
	t.Parallel()
	mounted := func(context.Context) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	}
	s := start(t, rest.Config{
		Token:  "secret",
		Mounts: map[string]func(context.Context) http.Handler{"/graphql": mounted},
	})
	for _, shown := range []string{
		"", "Bearer ", "Bearer secret2", "Bearer secre", "Basic secret", "secret",
		"bearer secret",
	} {
		for _, c := range [][2]string{
			{"POST", "/v1/publish"},
			{"GET", "/v1/topics"},
			{"GET", "/subscribe?topic=t"},
			{"POST", "/join"},
			{"GET", "/status"},
			{"POST", "/graphql"},
		} {
			a := s.want(s.ask(c[0], c[1], "", "Authorization", shown), 401, "unauthenticated")
			if a.header.Get("WWW-Authenticate") == "" || strings.Contains(a.body, "secret") {
				t.Errorf("%q: %v %s", shown, a.header, a.body)
			}
		}
	}
	s.want(s.ask("GET", "/v1/topics", "", "Authorization", "Bearer secret"), 200, "topics")
	s.spec = undescribed()
	s.want(s.ask("POST", "/graphql", "", "Authorization", "Bearer secret"), http.StatusTeapot, "")
}

// Pages of other origins can neither read, nor write, nor take a group's messages,
// unless theirs is named (hb-D25: any origin could).
func TestOrigins(t *testing.T) {
	t.Parallel()
	mounted := func(context.Context) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	}
	s := start(t, rest.Config{
		Origins: []string{"https://good.example"},
		Mounts:  map[string]func(context.Context) http.Handler{"/graphql": mounted},
	})
	for _, c := range []struct {
		why    string
		status int
		header []string
	}{
		{"no browser", 200, nil},
		{"the same origin", 200, []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost"}},
		{"typed in", 200, []string{"Sec-Fetch-Site", "none"}},
		{"the same origin, as older browsers say it", 200, []string{"Origin", "http://localhost"}},
		{"a named one", 200, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://good.example"}},
		{"another", 403, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}},
		{"another of the site", 403, []string{"Sec-Fetch-Site", "same-site", "Origin", "https://evil.example.com"}},
		{"another, as older browsers say it", 403, []string{"Origin", "https://evil.example"}},
		{"one that hides", 403, []string{"Origin", "null"}},
		{"an image", 403, []string{"Sec-Fetch-Site", "cross-site"}},
		{"one that looks alike", 403, []string{"Origin", "https://good.example.evil.example"}},
		{"another scheme", 403, []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://good.example"}},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			spec := s.spec
			if method == "HEAD" {
				s.spec = undescribed()
			}
			a := s.ask(method, "/v1/topics", "", c.header...)
			s.spec = spec
			allowed := a.header.Get("Access-Control-Allow-Origin")
			if a.status != c.status || (allowed != "") != (c.why == "a named one") || allowed == "*" {
				t.Errorf("%s, %s: %d, allowed %q; want %d", c.why, method, a.status, allowed, c.status)
			}
		}
		spec := s.spec
		s.spec = undescribed()
		if a := s.ask("POST", "/graphql", "", c.header...); (a.status == http.StatusTeapot) != (c.status == 200) {
			t.Errorf("%s: a mounted door answers %d", c.why, a.status)
		}
		preflight := append(slices.Clone(c.header), "Access-Control-Request-Method", "POST")
		for _, target := range []string{"/v1/publish", "/graphql"} {
			if a := s.ask("OPTIONS", target, "",
				preflight...); (a.status == http.StatusNoContent) != (c.status == 200) {
				t.Errorf("%s: %s, asked beforehand: %d", c.why, target, a.status)
			}
		}
		s.spec = spec
	}
}

// A page whose name was made to point here is of the same origin for its browser, and gets nothing: no reply,
// no stream, no page, nothing from a mounted API. One that shows a token is no such page.
func TestRebinding(t *testing.T) {
	t.Parallel()
	teapot := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	config := rest.Config{
		Names: []string{"broker.example"},
		Mounts: map[string]func(context.Context) http.Handler{"/graphql": func(context.Context) http.Handler {
			return teapot
		}},
		Pages: map[string]http.Handler{"/console": teapot},
	}
	s := start(t, config)
	s.spec = undescribed()
	for host, refused := range map[string]bool{
		"evil.example": true, "evil.example:8080": true, "broker.example.evil.example": true, "": true,
		"broker.example": false, "Broker.Example:8080": false, "localhost:8080": false, "127.0.0.1:8080": false,
		"[::1]:8080": false,
	} {
		for _, c := range [][2]string{
			{"GET", "/v1/topics"},
			{"POST", "/v1/publish"},
			{"GET", "/subscribe?topic=none"},
			{"GET", "/v1/topics/none/events"},
			{"GET", "/healthz"},
			{"POST", "/graphql"},
			{"GET", "/graphql"},
			{"GET", "/console"},
			{"OPTIONS", "/v1/topics"},
		} {
			if stream := strings.Contains(c[1], "subscribe") || strings.Contains(c[1], "events"); stream && !refused {
				continue // it would last
			}
			a := s.ask(c[0], c[1], "", "Host", host, "Sec-Fetch-Site", "same-origin", "Origin", "http://"+host)
			if (a.status == http.StatusMisdirectedRequest) != refused {
				t.Fatalf("%s %s of host %q: %d %s", c[0], c[1], host, a.status, a.body)
			}
			if refused {
				s.want(a, http.StatusMisdirectedRequest, "permission_denied")
			}
		}
	}
	config.Token = "secret"
	s = start(t, config)
	s.want(s.ask("GET", "/v1/topics", "", "Host", "proxy.example", "Authorization", "Bearer secret"), 200, "topics")
	s.want(s.ask("GET", "/v1/topics", "", "Host", "evil.example"), 401, "unauthenticated")
}

// A config that cannot be meant is refused.
func TestConfig(t *testing.T) {
	t.Parallel()
	if _, err := rest.New(rest.Config{}); err == nil || status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("no broker: %v", err)
	}
	for _, origin := range []string{
		"", "*", "example.com", "https://example.com/", "https://example.com/x", "https://",
		"://",
	} {
		if _, err := rest.New(rest.Config{Broker: memory(t), Origins: []string{origin}}); err == nil ||
			status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("origin %q: %v", origin, err)
		}
	}
}

// Every reply says that it is what it says, and that no one may keep it.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	for _, target := range []string{"/v1/topics", "/v1/none", "/", "/v1/topics/none", "/status"} {
		a := s.ask("GET", target, "")
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", target, a.header)
		}
	}
}
