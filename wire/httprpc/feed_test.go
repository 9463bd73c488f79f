package httprpc_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"

	"wirelab/wire/endpoint"
	"wirelab/wire/httprpc"
	"wirelab/wire/status"
)

// pick is a request with a parameter that has its own form: letters, of which none may be a digit.
type pick struct{ letters []string }

func pickParameters() []httprpc.Parameter[pick] {
	return []httprpc.Parameter[pick]{httprpc.Custom(
		"letters",
		func(p *pick) string { return strings.Join(p.letters, "|") },
		func(p *pick, text string) error {
			if strings.ContainsAny(text, "0123456789") {
				return status.Errorf(status.InvalidArgument, "letters are %q", text)
			}
			if text != "" {
				p.letters = strings.Split(text, "|")
			}
			return nil
		},
	)}
}

// picky is JSON in which one word is none.
func picky() httprpc.Codec[string] {
	return httprpc.CheckedJSONOf(func(s string) word { return word{s} }, func(w word) (string, error) {
		if w.Text == "none" {
			return "", errors.New("that is no word")
		}
		return w.Text, nil
	})
}

// picked streams the letters; "!" is a failure.
func picked(_ context.Context, p pick) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, letter := range p.letters {
			var err error
			if letter == "!" {
				err = status.Errorf(status.NotFound, "no more")
			}
			if !yield(letter, err) || err != nil {
				return
			}
		}
	}
}

// TestGetStream streams lines in answer to a GET, over each version.
func TestGetStream(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, httprpc.NewREST(map[string][]httprpc.Route{
			"/letters": {httprpc.GetStream(pickParameters(), picked, httprpc.Lines[pick](jsonWord()))},
		}), 0)
		client := v.dial(endpoint.Dialing{Address: address}, false)
		defer client.Close()
		call := httprpc.CallGetStream(client, "/letters", pickParameters(), picky())
		for _, c := range []struct {
			letters, want string
			code          status.Code
			message       string // "": no error
		}{
			{"", "", 0, ""},
			{"a|b & %|ö", "ab & %ö", 0, ""},
			{"!", "", status.NotFound, "no more"},
			{"a|!", "a", status.NotFound, "no more"},
			{"1", "", status.InvalidArgument, `letters are "1"`},
			{"a|none|b", "a", status.Internal, "reply: a line of the stream cannot be read"},
			{"z", "z", 0, ""},
		} {
			var p pick
			if c.letters != "" {
				p.letters = strings.Split(c.letters, "|")
			}
			got, err := collect(call(t.Context(), p))
			if got != c.want || (err == nil) != (c.message == "") || err != nil && !is(err, c.code, c.message) {
				t.Errorf("%q: %q, %v; want %q, %v %s", c.letters, got, err, c.want, c.code, c.message)
			}
		}
		for range call(t.Context(), pick{[]string{"a", "b"}}) {
			break
		}
		if got, err := collect(call(t.Context(), pick{[]string{"again"}})); got != "again" || err != nil {
			t.Errorf("after one that was left: %q, %v", got, err)
		}
	})
}

// TestGetStreamRefuses asks for whatever is no stream here.
func TestGetStreamRefuses(t *testing.T) {
	t.Parallel()
	address, _ := http1Version().start(t, httprpc.NewREST(map[string][]httprpc.Route{
		"/letters": {httprpc.GetStream(pickParameters(), picked, httprpc.Lines[pick](jsonWord()))},
	}), 0)
	for _, c := range []struct {
		why, method, target, body string
		status                    int
	}{
		{"a body", "GET", "?letters=a", "x", 400},
		{"another parameter", "GET", "?letter=a", "", 400},
		{"twice", "GET", "?letters=a&letters=b", "", 400},
		{"another method", "POST", "?letters=a", "", 405},
		{"unchanged", "GET", "?letters=a", "", 200},
	} {
		if got, body := ask(t, c.method, "http://"+address+"/letters"+c.target, c.body); got.StatusCode != c.status {
			t.Errorf("%s: %d, %s; want %d", c.why, got.StatusCode, body, c.status)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a stream without a framing is a route")
		}
	}()
	httprpc.GetStream[pick, string](nil, picked)
}

// TestHealth asks a service that is well, and some that are not: S11.
func TestHealth(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		ready  func(context.Context) error
		status int
		body   string
	}{
		"well": {func(context.Context) error { return nil }, 200, `{"status":"healthy"}`},
		"not well": {
			func(context.Context) error { return errors.New("password=secret") }, 503,
			`{"status":"unhealthy"}`,
		},
		"panics": {func(context.Context) error { panic("secret") }, 503, `{"status":"unhealthy"}`},
		"does not answer": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, 503, `{"status":"unhealthy"}`},
	} {
		address, _ := http1Version().start(t,
			httprpc.NewREST(map[string][]httprpc.Route{"/health": {httprpc.Health(c.ready)}}), 0)
		// The caller's patience is not what counts.
		for method, limit := range map[string]string{http.MethodGet: "3600000", http.MethodHead: "200"} {
			got, body := ask(t, method, "http://"+address+"/health", "", "Call-Timeout-Ms", limit)
			if method == http.MethodHead && body == "" {
				body = c.body
			}
			if got.StatusCode != c.status || body != c.body || got.Header.Get("Content-Type") != "application/json" ||
				got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %s is %+v, %s; want %d, %s", why, method, got, body, c.status, c.body)
			}
		}
	}
}
