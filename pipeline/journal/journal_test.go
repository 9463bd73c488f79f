package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/internal/porttest"
	"wirelab/pipeline/journal"
)

func TestSince(t *testing.T) {
	t.Parallel()
	cases := []struct {
		why             string
		capacity, notes int
		after           uint64
		limit           int
		first, last     uint64 // 0: no events
		next, lost      uint64
	}{
		{"an empty journal has nothing", 4, 0, 0, 10, 0, 0, 0, 0},
		{"all that was noted", 4, 3, 0, 10, 1, 3, 3, 0},
		{"what follows", 4, 3, 2, 10, 3, 3, 3, 0},
		{"nothing follows the newest", 4, 3, 3, 10, 0, 0, 3, 0},
		{"a page", 4, 4, 1, 2, 2, 3, 3, 0},
		{"a full ring has lost nothing", 4, 4, 0, 10, 1, 4, 4, 0},
		{"the oldest are forgotten", 4, 6, 0, 10, 3, 6, 6, 2},
		{"a reader that has seen some of the forgotten lost the rest", 4, 6, 1, 10, 3, 6, 6, 1},
		{"a reader at the edge lost nothing", 4, 6, 2, 10, 3, 6, 6, 0},
		{"round and round", 3, 100, 0, 1, 98, 98, 98, 97},
		{"more than one hold of the lock", 5000, 5000, 10, 4000, 11, 4010, 4010, 0},
		{"a number never given", 4, 3, 9, 10, 0, 0, 9, 0},
		{"no capacity is the default", 0, 5, 0, 10, 1, 5, 5, 0},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			j := journal.New(c.capacity)
			for i := range c.notes {
				j.Note("id-"+strconv.Itoa(i+1), journal.Stored, time.Unix(0, int64(i)))
			}
			events, next, lost := j.Since(c.after, c.limit)
			if next != c.next || lost != c.lost {
				t.Errorf("next %d, lost %d, want %d and %d", next, lost, c.next, c.lost)
			}
			want := 0
			if c.first > 0 {
				want = int(c.last-c.first) + 1
			}
			if len(events) != want {
				t.Fatalf("%d events, want %d", len(events), want)
			}
			for i, e := range events {
				seq := c.first + uint64(i)
				right := journal.Event{
					Seq: seq, ID: fmt.Sprintf("id-%d", seq), What: journal.Stored,
					At: time.Unix(0, int64(seq)-1),
				}
				if e != right {
					t.Errorf("event %d is %v, want %v", i, e, right)
				}
			}
		})
	}
}

// Writers and a reader at once: each event is read once and in order, or
// counted as lost; none is torn.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 5000
	j := journal.New(512)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				j.Note(strconv.Itoa(w), journal.What(1+w), time.Unix(int64(w), int64(i)))
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var after, read, lost uint64
	for finished := false; ; {
		events, next, missed := j.Since(after, 300)
		for _, e := range events {
			if w := e.At.Unix(); e.ID != strconv.FormatInt(w, 10) || e.What != journal.What(1+w) {
				t.Fatalf("an event is of two: %v", e)
			}
		}
		if next != after+missed+uint64(len(events)) {
			t.Fatalf("next is %d after %d, with %d lost and %d read", next, after, missed, len(events))
		}
		after, read, lost = next, read+uint64(len(events)), lost+missed
		if len(events) == 0 && finished {
			break
		}
		select {
		case <-done:
			finished = true
		default:
		}
	}
	if read+lost != writers*each {
		t.Errorf("%d read and %d lost of %d", read, lost, writers*each)
	}
}

func TestNoJournal(t *testing.T) {
	t.Parallel()
	var none *journal.Journal
	none.Note("a", journal.Accepted, time.Now())
	if events, next, lost := none.Since(3, 10); len(events) != 0 || next != 3 || lost != 0 {
		t.Errorf("no journal has %v, %d, %d", events, next, lost)
	}
}

// Of an id as much is kept as an entry's has at most, and nothing of the one
// that was in its place before.
func TestIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", journal.IDLimit)
	j := journal.New(1)
	for _, c := range []struct{ id, want string }{{long, long}, {"a", "a"}, {long + "y", long}, {"", ""}} {
		j.Note(c.id, journal.Failed, time.Now())
		_, head, _ := j.Since(0, 10)
		if events, _, _ := j.Since(head-1, 10); len(events) != 1 || events[0].ID != c.want {
			t.Errorf("%q is noted as %v", c.id, events)
		}
	}
}

func TestNoteAllocatesNothing(t *testing.T) {
	j := journal.New(8)
	at := time.Now()
	if n := testing.AllocsPerRun(100, func() { j.Note("a", journal.Stored, at) }); n != 0 {
		t.Errorf("a note allocates %v times", n)
	}
}

func TestWire(t *testing.T) {
	t.Parallel()
	j := journal.New(8)
	at := time.Unix(1763800000, 123456789)
	j.Note("a-1", journal.Accepted, at)
	j.Note("a-1", journal.Confirmed, at.Add(1))
	cases := []struct {
		why, query string
		status     int
		part       string
	}{
		{
			"all", "", 200,
			`{"events":[{"seq":1,"id":"a-1","what":"accepted","at":1763800000123456789},{"seq":2,"id":"a-1","what":"confirmed","at":1763800000123456790}],"next":2,"lost":0,`,
		},
		{"none is an empty list", "?after=2", 200, `{"events":[],"next":2,`},
		{"a page", "?after=0&limit=1", 200, `}],"next":1,`},
		{"not a number", "?after=x", 400, "after"},
		{"below zero", "?after=-1", 400, "after"},
		{"no events", "?limit=0", 400, "limit"},
		{"too many", "?limit=10001", 400, "limit"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			j.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/journal"+c.query, http.NoBody))
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.part) {
				t.Errorf("%d %s, want %d with %s", w.Code, w.Body, c.status, c.part)
			}
		})
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for what := journal.Accepted; what <= journal.Failed; what++ {
		text, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		var back journal.What
		if err := json.Unmarshal(text, &back); err != nil || back != what {
			t.Errorf("%s came back as %v, %v", text, back, err)
		}
	}
	for _, bad := range []journal.What{0, 7} {
		if text, err := bad.MarshalText(); err == nil {
			t.Errorf("event %d is %q", bad, text)
		}
	}
	var none journal.What
	for _, bad := range []string{"", "Stored", "lost"} {
		if err := none.UnmarshalText([]byte(bad)); wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A reader gets each event once, counts what it was too late for, and starts
// over when the process behind the address was started again.
func TestReader(t *testing.T) {
	t.Parallel()
	first, second := journal.New(4), journal.New(4)
	var mu sync.Mutex
	current := first
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		j := current
		mu.Unlock()
		j.ServeHTTP(w, r)
	}))
	defer server.Close()
	reader := &journal.Reader{URL: server.URL + "/journal"}
	next := func(why string, want ...string) {
		t.Helper()
		events, err := reader.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			got = append(got, e.ID)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", why, got, want)
		}
	}
	next("nothing yet")
	first.Note("a", journal.Received, time.Now())
	next("the first", "a")
	next("once only")
	for i := range 6 {
		first.Note(strconv.Itoa(i), journal.Stored, time.Now())
	}
	next("the last four of six", "2", "3", "4", "5")
	if reader.Lost != 2 || reader.Anew != 0 {
		t.Errorf("lost %d, anew %d, want 2 and 0", reader.Lost, reader.Anew)
	}
	second.Note("b", journal.Received, time.Now())
	mu.Lock()
	current = second
	mu.Unlock()
	next("another journal, from its beginning", "b")
	if reader.Lost != 2 || reader.Anew != 1 {
		t.Errorf("lost %d, anew %d, want 2 and 1", reader.Lost, reader.Anew)
	}
}

// TestOddIDs checks that a full page of the longest possible ids can be read. Ids come from anyone who may publish
// (ms-D05).
func TestOddIDs(t *testing.T) {
	t.Parallel()
	j := journal.New(journal.PageLimit)
	for _, id := range []string{strings.Repeat("\x01", 300), strings.Repeat("\xff", journal.IDLimit)} {
		for range journal.PageLimit {
			j.Note(id, journal.Confirmed, time.Now())
		}
		server := httptest.NewServer(j)
		page, err := journal.Read(t.Context(), server.URL, 0)
		server.Close()
		if err != nil || len(page.Events) != journal.PageLimit {
			t.Errorf("%q: %d events, %v", id[:1], len(page.Events), err)
		}
	}
}

// FuzzRead reads whatever a journal's address answers: a page, or Unavailable.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"events":[{"seq":1,"id":"a","what":"stored","at":1}],"next":1,"lost":0,"began":5}`))
	f.Add([]byte(`{"events":[{"seq":-1,"what":"x"}]}`))
	f.Add([]byte(`{"events":[{"seq":1},{"seq":2,"what":null}]}`))
	f.Add([]byte(`{"events":null,"next":18446744073709551615,"lost":18446744073709551615,"began":-9223372036854775808}`))
	var answer atomic.Pointer[[]byte]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(*answer.Load())
	}))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, text []byte) {
		answer.Store(&text)
		page, err := journal.Read(t.Context(), server.URL, 0)
		if err != nil {
			if wirelab.CodeOf(err) != wirelab.Unavailable {
				t.Errorf("%v, want Unavailable", err)
			}
			return
		}
		for _, e := range page.Events {
			if e.What < journal.Accepted || e.What > journal.Failed {
				t.Errorf("an event that is none: %+v", e)
			}
		}
	})
}

func TestReadFails(t *testing.T) {
	t.Parallel()
	answers := map[string]http.HandlerFunc{
		"another page": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) },
		"no JSON":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"an event of no": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"events":[{"what":"x"}]}`))
		},
	}
	for why, answer := range answers {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			defer server.Close()
			if _, err := journal.Read(t.Context(), server.URL, 0); wirelab.CodeOf(err) != wirelab.Unavailable {
				t.Errorf("%v, want Unavailable", err)
			}
		})
	}
	gone := "http://" + porttest.Refusing(t)
	if _, err := journal.Read(t.Context(), gone, 0); wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("no server: %v, want Unavailable", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := journal.Read(ended, gone, 0); wirelab.CodeOf(err) != wirelab.Canceled {
		t.Errorf("a caller that left: %v, want Canceled", err)
	}
}
