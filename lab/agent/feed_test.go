package agent_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// hum is an event of the silent service.
type hum struct {
	N int
	wirelab.Stamp
}

func (h hum) Equal(other hum) bool { return h.N == other.N && h.Sequence == other.Sequence }

type humming struct{ Rate int64 }

// hummer is a service with a feed. fault names what its wire does to one event in each ten thousand, the 4,000th.
type hummer struct {
	fault string
	n     uint64 // events; 0: no end
}

func (s hummer) Hum(ctx context.Context, h humming) iter.Seq2[hum, error] {
	return func(yield func(hum, error) bool) {
		var late *hum
		for k := uint64(1); s.n == 0 || k <= s.n; k++ {
			one := hum{N: int(k % 97), Stamp: paced(ctx, h.Rate, k)}
			if ctx.Err() != nil {
				yield(hum{}, context.Cause(ctx))
				return
			}
			times := 1
			if k%10_000 == 4_000 {
				switch s.fault {
				case "loses":
					times = 0
				case "doubles":
					times = 2
				case "reorders":
					late, times = &one, 0
				case "corrupts":
					one.N++
				case "breaks":
					yield(hum{}, wirelab.Errorf(wirelab.Unavailable, "broken"))
					return
				}
			}
			for range times {
				if !yield(one, nil) {
					return
				}
			}
			if late != nil && times > 0 {
				if !yield(*late, nil) {
					return
				}
				late = nil
			}
		}
	}
}

// began is the key for the time at which the first event of a paced stream was due.
type began struct{}

// paced waits until event k is due, and stamps it.
func paced(ctx context.Context, rate int64, k uint64) wirelab.Stamp {
	if rate == 0 {
		return wirelab.Stamp{Sequence: k}
	}
	t0, _ := ctx.Value(began{}).(time.Time)
	due := t0.Add(time.Duration(float64(k-1) / float64(rate) * 1e9))
	if d := time.Until(due); d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	return wirelab.Stamp{Sequence: k, Due: due.UnixNano(), Sent: time.Now().UnixNano()}
}

// stub is the client's end. It notes when a stream began.
type stub struct{ hummer }

func (s stub) Hum(ctx context.Context, h humming) iter.Seq2[hum, error] {
	return s.hummer.Hum(context.WithValue(ctx, began{}, time.Now()), h)
}

type hums interface {
	Hum(ctx context.Context, h humming) iter.Seq2[hum, error]
}

func feedCell(served hummer) wirelab.Cell {
	return wirelab.Workload[hums]{
		Name: "silence", New: func() hums { return hummer{} },
		Operations: []wirelab.Operation[hums]{
			wirelab.Feeding("Hum", func(*rand.Rand) humming { return humming{} }, hums.Hum,
				func(rate int64) humming { return humming{rate} }),
		},
		Bindings: []wirelab.Binding[hums]{{
			Protocol: wirelab.Protocol{Name: "none", Network: "tcp", Multiplexed: true},
			Servers:  []wirelab.Server[hums]{{}},
			Clients: []wirelab.Dialer[hums]{{Dial: func(context.Context, wirelab.Dialing) (hums, io.Closer, error) {
				return stub{served}, io.NopCloser(nil), nil
			}}},
		}},
	}.Erase().Cells[0]
}

func held(streams int, rate int64, reader float64) control.Load {
	return control.Load{Kind: plan.Held, Operation: "Hum", Streams: streams, Rate: rate, Reader: reader, Connections: 1}
}

// holding dials a load of streams and runs one slice of it.
func holding(t *testing.T, c wirelab.Cell, l control.Load, length time.Duration) (*control.Measured, error) {
	t.Helper()
	replies := drive(t, c, dial(l),
		control.Order{Slice: &control.Slice{For: plan.Duration(length), Head: plan.Duration(length / 10)}})
	for _, r := range replies {
		if r.Error != "" {
			return nil, errors.New(r.Error)
		}
	}
	return replies[2].Slice, nil
}

// TestEveryFaultOfAStreamIsFound: if a wire loses, doubles, reorders or corrupts one event in ten thousand, there is no
// figure (grb-M02, R2).
func TestEveryFaultOfAStreamIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		fault                    string
		missing, doubled, turned uint64
		errors                   map[string]uint64
	}{
		{"", 0, 0, 0, nil},
		{"loses", 2, 0, 0, map[string]uint64{"missing": 2}},
		{"doubles", 0, 2, 0, nil},
		{"reorders", 0, 0, 2, nil},
		{"corrupts", 0, 0, 0, map[string]uint64{result.WrongReply: 2}},
	} {
		t.Run("one that "+c.fault, func(t *testing.T) {
			// 2 streams of 12,000 events each; the first tenth is not recorded
			m, err := holding(t, feedCell(hummer{fault: c.fault}), held(2, 20_000, 0), 600*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			s := m.Streams
			if s.Missing != c.missing || s.Duplicated != c.doubled || s.Reordered != c.turned {
				t.Errorf("missing %d, doubled %d, reordered %d; want %d, %d, %d", s.Missing, s.Duplicated, s.Reordered,
					c.missing, c.doubled, c.turned)
			}
			for kind, n := range c.errors {
				if m.Recording.Errors[kind] != n {
					t.Errorf("errors %v; want %v", m.Recording.Errors, c.errors)
				}
			}
			if len(c.errors) != len(m.Recording.Errors) {
				t.Errorf("errors %v; want %v", m.Recording.Errors, c.errors)
			}
			if m.Calls < m.Recording.OK || len(s.Clients) != 2 || s.Clients[1].Delivery == nil {
				t.Errorf("%d events read, %d right, clients %+v", m.Calls, m.Recording.OK, s.Clients)
			}
		})
	}
}

// TestStreamThatBreaks: the events that a broken stream did not deliver are counted under the cause of the break.
func TestStreamThatBreaks(t *testing.T) {
	t.Parallel()
	m, err := holding(t, feedCell(hummer{fault: "breaks"}), held(1, 20_000, 0), 400*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Recording.Errors["unavailable"]; n == 0 || n != m.Streams.Missing {
		t.Errorf("errors %v, %d missing", m.Recording.Errors, m.Streams.Missing)
	}
}

// TestStreamsThatEndEarly: the error says what to do about it.
func TestStreamsThatEndEarly(t *testing.T) {
	t.Parallel()
	_, err := holding(t, feedCell(hummer{n: 100}), held(2, 1000, 0), time.Second)
	if err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("%v; want one that names --data", err)
	}
}

// TestStreamsAreCheckedBeforeTheyAreWarmedUp: and an operation that is not a feed is refused.
func TestStreamsAreCheckedBeforeTheyAreWarmedUp(t *testing.T) {
	t.Parallel()
	order := dial(control.Load{Kind: plan.Held, Operation: "Hush", Streams: 2, Rate: 10, Connections: 1})
	if r := drive(t, cell(false, nil), order); !strings.Contains(r[1].Error, "is not a feed") {
		t.Errorf("%+v", r[1])
	}
	if _, err := holding(t, feedCell(hummer{n: 0}), held(2, 1000, 0.5), 300*time.Millisecond); err != nil {
		t.Error(err)
	}
}

// TestStreamsAreWarmedUp in windows; each window opens new streams.
func TestStreamsAreWarmedUp(t *testing.T) {
	t.Parallel()
	r := drive(t, feedCell(hummer{}), dial(held(2, 1000, 0.5)),
		control.Order{Warm: &control.Warm{Least: plan.Duration(100 * time.Millisecond)}})
	if r[2].Error != "" || r[2].Warm == nil || r[2].Warm.Windows < 20 {
		t.Errorf("%+v", r[2])
	}
}
