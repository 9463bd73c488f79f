package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"wirelab/cmd/internal/desk"
)

// With --published a server creates as the published service does, the null
// responder too. Without it creating conflicts.
func TestServePublished(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags  string
		second int
	}{
		{"--published", 200},
		{"--published --null", 200},
		{"--published --data 100", 200},
		{"--data published", 200},
		{"", 409},
	} {
		serving(t, "serve directory http1-json "+c.flags, func(address string) {
			for _, want := range []int{200, c.second} {
				reply, err := http.Post("http://"+address+"/person", "application/json",
					strings.NewReader(`{"id":"5"}`))
				if err != nil {
					t.Fatal(err)
				}
				reply.Body.Close()
				if reply.StatusCode != want {
					t.Errorf("%q: creating is %d, want %d", c.flags, reply.StatusCode, want)
				}
			}
		})
	}
}

// What the flag would change must be there.
func TestServePublishedWhatIsNot(t *testing.T) {
	t.Parallel()
	said := []string{"routeguide", "leave --published out"}
	newShell(t).run("serve", "routeguide", "grpc", "--published").wants(t, desk.ExitUsage, nil, said)
}

// serving runs a serve command while use calls its server.
func serving(t *testing.T, command string, use func(address string)) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	notes, code := &signalled{wrote: make(chan struct{}, 1)}, make(chan int, 1)
	go func() {
		none := func(string) string { return "" }
		code <- run(ctx, strings.Fields(command), strings.NewReader(""), &signalled{}, notes, none)
	}()
	const before = "--target "
	for !strings.Contains(notes.String(), before) {
		select {
		case <-notes.wrote:
		case c := <-code:
			t.Fatalf("%s ended with %d: %s", command, c, notes)
		}
	}
	_, rest, _ := strings.Cut(notes.String(), before)
	use(strings.Fields(rest)[0])
	stop()
	if c := <-code; c != desk.ExitOK {
		t.Errorf("%s ended with %d: %s", command, c, notes)
	}
}
