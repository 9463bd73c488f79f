package wirelab_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wirelab"
)

// tick is an event of the toy feed.
type tick struct {
	Value int
	wirelab.Stamp
}

func (t tick) Equal(other tick) bool { return t.Value == other.Value && t.Sequence == other.Sequence }

// pace asks for a feed. Rate reaches the service and changes no event.
type pace struct{ Rate int64 }

// ticker is a service with a feed of n events. at returns what arrives as event k: that event no times, once or
// more often, and events after it. A nil at is a correct feed.
type ticker struct {
	n    int
	at   func(k int) []tick
	fail error
	rate *int64
}

func sound(k int) tick {
	return tick{Value: 7 * k, Stamp: wirelab.Stamp{Sequence: uint64(k), Due: int64(k), Sent: int64(k)}}
}

func (s ticker) Ticks(_ context.Context, p pace) iter.Seq2[tick, error] {
	return func(yield func(tick, error) bool) {
		if s.rate != nil {
			*s.rate = p.Rate
		}
		for k := 1; k <= s.n; k++ {
			events := []tick{sound(k)}
			if s.at != nil {
				events = s.at(k)
			}
			for _, event := range events {
				if !yield(event, nil) {
					return
				}
			}
		}
		if s.fail != nil {
			yield(tick{}, s.fail)
		}
	}
}

// fed returns a client of the toy feed whose reference has n events.
func fed(t *testing.T, reference, served ticker) wirelab.Client {
	t.Helper()
	cell := wirelab.Workload[ticker]{
		Name: "ticks", New: func() ticker { return reference },
		Operations: []wirelab.Operation[ticker]{
			wirelab.Feeding("Ticks", func(*rand.Rand) pace { return pace{} }, ticker.Ticks,
				func(rate int64) pace { return pace{rate} }),
			wirelab.ServerStreaming("Plain", func(*rand.Rand) pace { return pace{} }, ticker.Ticks),
		},
		Bindings: []wirelab.Binding[ticker]{{
			Servers: []wirelab.Server[ticker]{{}},
			Clients: []wirelab.Dialer[ticker]{{Dial: func(context.Context, wirelab.Dialing) (ticker, io.Closer, error) {
				return served, io.NopCloser(nil), nil
			}}},
		}},
	}.Erase()
	if !cell.Operations[0].Feed || cell.Operations[1].Feed {
		t.Errorf("feeds: %+v; want the first alone", cell.Operations)
	}
	client, err := cell.Cells[0].Dial(t.Context(), wirelab.Dialing{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestFeedNamesWhatIsWrong checks that the content of every event is compared with the reference event of the same
// number, so an event that is lost, doubled or reordered makes no other event look wrong (R2, grb-M02).
func TestFeedNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		at    func(k int) []tick
		want  string // the sequence numbers received, the wrong ones with a !
		wrong string // in the first mismatch
	}{
		{"sound", nil, "1 2 3 4 5 6", ""},
		{"one lost", func(k int) []tick {
			if k == 3 {
				return nil
			}
			return []tick{sound(k)}
		}, "1 2 4 5 6", ""},
		{"one doubled", func(k int) []tick {
			if k == 3 {
				return []tick{sound(3), sound(3)}
			}
			return []tick{sound(k)}
		}, "1 2 3 3 4 5 6", ""},
		{"two reordered", func(k int) []tick {
			return []tick{sound(map[int]int{1: 1, 2: 2, 3: 4, 4: 3, 5: 5, 6: 6}[k])}
		}, "1 2 4 3 5 6", ""},
		{"one corrupt", func(k int) []tick {
			event := sound(k)
			if k == 3 {
				event.Value++
			}
			return []tick{event}
		}, "1 2 !3 4 5 6", "{Value:22"},
		{"one without a number", func(k int) []tick {
			event := sound(k)
			if k == 3 {
				event.Sequence = 0
			}
			return []tick{event}
		}, "1 2 !0 4 5 6", "one near event 3"},
		{"one of far ahead", func(k int) []tick {
			if k == 3 {
				return []tick{sound(100_000)}
			}
			return []tick{sound(k)}
		}, "1 2 !100000 4 5 6", "one near event 3"},
		{"one more than there is", func(k int) []tick {
			if k == 6 {
				return []tick{sound(6), sound(7)}
			}
			return []tick{sound(k)}
		}, "1 2 3 4 5 6 !7", "6 events"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var rate int64
			feed, err := fed(t, ticker{n: 6}, ticker{n: 6, at: c.at, rate: &rate}).Feed("Ticks", 250)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			var first error
			err = feed(t.Context(), func(s wirelab.Stamp, err error) bool {
				mark := ""
				if err != nil {
					mark, first = "!", errors.Join(first, err)
					if _, ok := errors.AsType[*wirelab.Mismatch](err); !ok {
						t.Errorf("event %d: %v is no mismatch", s.Sequence, err)
					}
				}
				got = append(got, fmt.Sprint(mark, s.Sequence))
				return true
			})
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("events %s and %v; want %s", strings.Join(got, " "), err, c.want)
			}
			if c.wrong != "" && (first == nil || !strings.Contains(first.Error(), c.wrong)) {
				t.Errorf("mismatch %v; want %s in it", first, c.wrong)
			}
			if rate != 250 {
				t.Errorf("the service was asked for %d events/s, want 250", rate)
			}
		})
	}
}

// TestFeedKeepsEventsForLateOnes checks that only a bounded number of events of a long feed is kept.
func TestFeedKeepsEventsForLateOnes(t *testing.T) {
	t.Parallel()
	const n = 3000
	late := func(k int) []tick {
		switch k {
		case 10, 2000: // arrive 900 and 2,000 events late
			return nil
		case 2900:
			return []tick{sound(k), sound(2000), sound(10)}
		}
		return []tick{sound(k)}
	}
	feed, err := fed(t, ticker{n: n}, ticker{n: n, at: late}).Feed("Ticks", 0)
	if err != nil {
		t.Fatal(err)
	}
	var wrong []uint64
	if err := feed(t.Context(), func(s wirelab.Stamp, err error) bool {
		if err != nil {
			wrong = append(wrong, s.Sequence)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(wrong, []uint64{10}) {
		t.Errorf("wrong: %v; want the one that came too late to be compared", wrong)
	}
}

// TestFeedEnds checks that a feed ends when the reader stops, or with the error of the stream.
func TestFeedEnds(t *testing.T) {
	t.Parallel()
	broken := wirelab.Errorf(wirelab.Unavailable, "gone")
	client := fed(t, ticker{n: 6}, ticker{n: 6, fail: broken})
	feed, err := client.Feed("Ticks", 1)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := feed(t.Context(), func(wirelab.Stamp, error) bool { n++; return n < 4 }); err != nil || n != 4 {
		t.Errorf("stopped after %d events with %v; want 4 and none", n, err)
	}
	if err := feed(t.Context(), func(wirelab.Stamp, error) bool { return true }); !errors.Is(err, broken) {
		t.Errorf("a stream that broke ends with %v", err)
	}
	if _, err := client.Feed("Plain", 1); wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("a stream without stamps is taken for a feed: %v", err)
	}
	if _, err := client.Feed("Nothing", 1); wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("an operation that is not there: %v", err)
	}
}

// TestFeedChecksWithoutGarbage checks that checking an event allocates nothing: the reader pays for the check, so
// its cost would be part of the measurement.
func TestFeedChecksWithoutGarbage(t *testing.T) {
	const n = 20_000
	feed, err := fed(t, ticker{n: n, at: inPlace()}, ticker{n: n, at: inPlace()}).Feed("Ticks", 0)
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	allocated := testing.AllocsPerRun(1, func() {
		got = 0
		if err := feed(t.Context(), func(_ wirelab.Stamp, err error) bool {
			if err == nil {
				got++
			}
			return true
		}); err != nil {
			t.Error(err)
		}
	})
	if got != n || allocated > n/100 {
		t.Errorf("%d of %d events right, %.0f allocations", got, n, allocated)
	}
}

// inPlace returns a source of correct events that allocates nothing for each.
func inPlace() func(k int) []tick {
	one := make([]tick, 1)
	return func(k int) []tick {
		one[0] = sound(k)
		return one
	}
}
