package dashboard

import (
	"bufio"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/results/store"
)

// events opens a stream of news.
func (s *site) events() (lines *bufio.Scanner, stop func()) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.address+"/api/v1/running/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	reply, err := (&http.Client{Transport: s.client.Transport}).Do(r) //nolint:bodyclose // stop closes it
	if err != nil {
		s.t.Fatal(err)
	}
	if reply.StatusCode != http.StatusOK || reply.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("%d %v", reply.StatusCode, reply.Header)
	}
	return bufio.NewScanner(reply.Body), func() { _ = reply.Body.Close() }
}

// next is the data of the next event of a kind.
func next(t *testing.T, lines *bufio.Scanner, kind string) string {
	t.Helper()
	for lines.Scan() {
		if lines.Text() != "event: "+kind {
			continue
		}
		lines.Scan()
		return strings.TrimPrefix(lines.Text(), "data: ")
	}
	t.Fatalf("no event %s: %v", kind, lines.Err())
	return ""
}

// News comes as it happens, and a stop ends every stream at once (grb-D15).
func TestStream(t *testing.T) {
	t.Parallel()
	results := open(t)
	s := serve(t, results, "")
	lines, stop := s.events()
	defer stop()
	if data := next(t, lines, "running"); data != `{"running":[]}` {
		t.Errorf("at first %s", data)
	}
	if err := results.Report(t.Context(), running(3)); err != nil {
		t.Fatal(err)
	}
	data := next(t, lines, "running")
	for _, want := range []string{
		`"round 3 of 10 to 100, step 4 of 40"`, `"state":"running"`, "measuring: grpc",
		`"failed":["grpc: steal: `, "1 check holds, 1 failed",
	} {
		if !strings.Contains(data, want) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
	if got := decoded[nowRunning](t, s.get("/api/v1/running")); len(got.Running) != 1 ||
		got.Running[0].ID != running(3).ID {
		t.Errorf("running %+v", got)
	}
	if err := results.Forget(t.Context(), running(3).ID); err != nil {
		t.Fatal(err)
	}
	if data := next(t, lines, "running"); data != `{"running":[]}` {
		t.Errorf("at last %s", data)
	}
	var group sync.WaitGroup
	for range 5 {
		more, stop := s.events()
		defer stop()
		next(t, more, "running")
		group.Go(func() {
			for more.Scan() { // until the stream ends
			}
		})
	}
	if err := s.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	next(t, lines, "end")
	group.Wait()
	for lines.Scan() {
		if lines.Text() != "" {
			t.Errorf("after the end came %q", lines.Text())
		}
	}
}

// There are so many streams and no more; one that ends makes room.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, memory{}, "")
	for range readers {
		s.board.open <- struct{}{}
	}
	patient := s.board.limits
	s.board.limits.place = time.Millisecond // no place becomes free, however long one waits
	if a := s.get("/api/v1/running/events"); a.status != http.StatusServiceUnavailable ||
		a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	<-s.board.open
	s.board.limits = patient
	lines, stop := s.events()
	defer stop()
	next(t, lines, "running")
}

// Cards say the true state of running experiments, also of those that went silent,
// whose length is unknown, or whose checks are of another wirelab.
func TestCards(t *testing.T) {
	t.Parallel()
	r := running(3)
	r.Stale = true
	if c := cardOf(r); c.State != "silent" || !strings.Contains(c.Phase, "it may have been killed") || c.Done != 272 {
		t.Errorf("silent: %+v", c)
	}
	r = running(3)
	r.Left = 0
	if c := cardOf(r); c.Left != "" || c.Done != 207 { // two rounds and 3 of 40 steps of 10 rounds
		t.Errorf("of unknown length: %+v", c)
	}
	r.RoundsMin, r.RoundsMax, r.Standing = 0, 0, nil
	if c := cardOf(r); c.Done != -1 || !strings.HasPrefix(c.Rounds, "round 3,") ||
		!strings.Contains(c.Gates, "after the first round") {
		t.Errorf("unbounded: %+v", c)
	}
	r.Standing = &store.Standing{Round: 1, Analysis: []byte(`[]`)}
	if c := cardOf(r); !strings.Contains(c.Gates, "another wirelab") {
		t.Errorf("another form: %+v", c)
	}
}
