package agent_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/pipeline/journal"
)

// letter is what the made-up post office receives.
type letter struct{ ID string }

// office accepts letters, records each in its journal, and makes an error with every 50th.
type office struct {
	journal *journal.Journal
	fault   string
	taken   *atomic.Uint64
}

func (o office) Post(_ context.Context, l letter) (question, error) {
	if o.journal == nil {
		return question{}, nil // the reference
	}
	time.Sleep(200 * time.Microsecond) // without it the test would measure the machine
	now := time.Now()
	n := o.taken.Add(1)
	planted := n%50 == 25
	if planted && o.fault == "refuses" {
		return question{}, wirelab.Errorf(wirelab.Unavailable, "closed")
	}
	o.journal.Note(l.ID, journal.Confirmed, now)
	switch {
	case planted && o.fault == "loses":
		return question{}, nil
	case planted && o.fault == "invents":
		o.journal.Note("never sent "+l.ID, journal.Stored, now)
	case planted && o.fault == "doubles":
		o.journal.Note(l.ID, journal.Duplicate, now)
	}
	o.journal.Note(l.ID, journal.Stored, now.Add(3*time.Millisecond))
	if planted && o.fault == "fails and keeps" {
		return question{}, wirelab.Errorf(wirelab.Unavailable, "closed")
	}
	return question{}, nil
}

// enough is how many letters there must be for each fault to have affected some.
const enough = 100

// posting has a driver post letters under two loads, and returns what became of the letters in each slice, according to
// the journal or to the replies. A slow machine gets longer slices until there are enough letters.
func posting(t *testing.T, fault string, replies bool) (all []*control.Measured) {
	t.Helper()
	for length := time.Second; length < 5*time.Minute; length *= 4 {
		all = postingFor(t, fault, replies, length)
		if !slices.ContainsFunc(all, func(m *control.Measured) bool { return m.Followed.Sent < enough }) {
			return all
		}
	}
	t.Fatal("there are too few letters")
	return nil
}

func postingFor(t *testing.T, fault string, replies bool, length time.Duration) []*control.Measured {
	t.Helper()
	o := office{journal: journal.New(1 << 20), fault: fault, taken: &atomic.Uint64{}}
	server := httptest.NewServer(o.journal)
	t.Cleanup(func() {
		server.Close()
		http.DefaultClient.CloseIdleConnections() // with which a driver reads journals
	})
	c := wirelab.Workload[office]{
		Name: "silence", New: func() office { return office{} },
		Operations: []wirelab.Operation[office]{
			wirelab.Following("Post", func(r *rand.Rand) letter { return letter{strconv.FormatUint(r.Uint64(), 36)} },
				office.Post, func(l letter) string { return l.ID }),
		},
		Bindings: []wirelab.Binding[office]{{
			Protocol: wirelab.Protocol{Name: "none", Network: "tcp", Multiplexed: true},
			Servers:  []wirelab.Server[office]{{}},
			Clients: []wirelab.Dialer[office]{{Dial: func(context.Context, wirelab.Dialing) (office, io.Closer, error) {
				return o, io.NopCloser(nil), nil
			}}},
		}},
	}.Erase().Cells[0]
	one := control.Load{Operation: "Post", InFlight: 3, Connections: 1}
	two := one
	two.InFlight = 2
	dial := control.Dial{
		Workload: "silence", Protocol: "none", Seed: 1, Deadline: plan.Duration(20 * time.Second),
		Loads:    []control.Load{one, two},
		Patience: plan.Duration(2 * time.Second), Stores: replies,
	}
	if !replies {
		dial.Journals = []string{server.URL + "/journal"}
	}
	told := drive(t, c,
		control.Order{Dial: &dial},
		control.Order{Warm: &control.Warm{Load: 0, Least: plan.Duration(40 * time.Millisecond)}},
		control.Order{Slice: &control.Slice{
			Load: 0, For: plan.Duration(length),
			Head: plan.Duration(30 * time.Millisecond),
		}},
		control.Order{Slice: &control.Slice{Load: 1, For: plan.Duration(length)}},
	)
	var all []*control.Measured
	for _, r := range told[3:] {
		if r.Error != "" || r.Slice == nil || r.Slice.Followed == nil {
			t.Fatalf("%+v", r)
		}
		all = append(all, r.Slice)
	}
	return all
}

// A driver reports what became of its calls by id, whatever earlier loads submitted. One letter in 50 that is lost,
// invented or stored twice is found each time, and no fault is found where there is none (ms-M01, ms-M15, R1, R2).
func TestDriverFollowsWhatItHandsOver(t *testing.T) {
	t.Parallel()
	for fault, seen := range map[string]func(f *result.Followed) uint64{
		"":                nil,
		"loses":           func(f *result.Followed) uint64 { return f.Missing },
		"invents":         func(f *result.Followed) uint64 { return f.Stray },
		"doubles":         func(f *result.Followed) uint64 { return f.Duplicated },
		"refuses":         func(f *result.Followed) uint64 { return f.Refused },
		"fails and keeps": func(f *result.Followed) uint64 { return f.Kept },
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			for i, m := range posting(t, fault, false) {
				f := *m.Followed
				if err := f.Whole(); err != nil {
					t.Errorf("slice %d: %v", i, err)
				}
				if f.Sent != m.Recording.Sent || f.Accepted != m.Recording.OK {
					t.Errorf("slice %d: %d letters of %d calls, %d accepted of %d", i, f.Sent, m.Recording.Sent,
						f.Accepted, m.Recording.OK)
				}
				if f.StoredAfter.Min() < 2_900_000 {
					t.Errorf("slice %d: stored after %v", i, time.Duration(f.StoredAfter.Min()))
				}
				if seen != nil {
					// One in 50, give or take those at the edges. An entry that was never sent cannot be counted as one
					// of the head.
					if n := seen(&f); n < f.Sent/50-1 || n > m.Calls/50+2 {
						t.Errorf("slice %d: %d seen in %d, of %d with the head", i, n, f.Sent, m.Calls)
					}
					continue
				}
				if wrong := fmt.Sprint(f.Missing, f.Stray, f.Lost, f.Duplicated, f.Refused,
					f.Kept); wrong != "0 0 0 0 0 0" || f.Confirmed != f.Sent {
					t.Errorf("slice %d: %s, %d confirmed of %d", i, wrong, f.Confirmed, f.Sent)
				}
			}
		})
	}
}

// If a reply says that a letter is stored, only the reply decides what became of it: the letter is stored when the
// reply arrives, a refused letter is never stored, and no journal is read.
func TestDriverFollowsByReplies(t *testing.T) {
	t.Parallel()
	for fault, refused := range map[string]bool{"": false, "refuses": true, "loses": false} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			for i, m := range posting(t, fault, true) {
				f := *m.Followed
				if err := f.Whole(); err != nil {
					t.Errorf("slice %d: %v", i, err)
				}
				if wrong := fmt.Sprint(f.Missing, f.Stray, f.Lost, f.Duplicated, f.Reordered, f.Kept,
					f.Unknown); wrong != "0 0 0 0 0 0 0" {
					t.Errorf("slice %d: %s", i, wrong)
				}
				if f.Sent != m.Recording.Sent || f.Accepted != m.Recording.OK || f.Stored != f.Accepted ||
					f.Confirmed != f.Accepted || refused != (f.Refused > 0) {
					t.Errorf("slice %d: %+v of %d calls", i, f, m.Recording.Sent)
				}
				replied := m.Recording.Response
				if f.StoredAfter.Min() != replied.Min() || f.StoredAfter.Max() != replied.Max() ||
					f.StoredAfter.Count() != replied.Count() {
					t.Errorf("slice %d: stored after %d to %d ns, replied after %d to %d", i, f.StoredAfter.Min(),
						f.StoredAfter.Max(), replied.Min(), replied.Max())
				}
			}
		})
	}
}
