package load

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The shares of a schedule are exactly its arrivals, whatever its law, rate and number of shares.
func TestSharesAreTheWholeSchedule(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, law := range Laws() {
		s := Schedule{
			Law: law, Seed: r.Uint64(), Spread: 3, Gaps: []time.Duration{5, 1, 0, 9},
			Stages: []Stage{
				{Duration: time.Second, From: 10, To: 10 + 500*r.Float64()},
				{Duration: time.Second, From: 100, To: 100},
			},
		}
		whole, gaps := shareDues(t, s)
		of := 1 + r.IntN(7)
		var joined []time.Duration
		var expected, all float64
		for i := range of {
			share := s
			share.Share = Share{Index: i, Of: of}
			due, own := shareDues(t, share)
			joined = append(joined, due...)
			all += sum(own)
			expected += share.Expected(2 * time.Second)
		}
		slices.Sort(joined)
		if !slices.Equal(joined, whole) {
			t.Errorf("%s in %d shares: %d arrivals, want %d", law, of, len(joined), len(whole))
		}
		if want := s.Expected(2 * time.Second); expected < want*0.999 || expected > want*1.001 {
			t.Errorf("%s in %d shares: %v are expected, want %v", law, of, expected, want)
		}
		// The gaps that the shares tell are those between all arrivals, but for the first of each share.
		if all > sum(gaps)+0.001 || all < sum(gaps)-20*float64(of) {
			t.Errorf("%s in %d shares: gaps of %v, want about %v", law, of, all, sum(gaps))
		}
	}
}

// shareDues are when the arrivals of a share are due, and the gaps that sending them at once would show.
func shareDues(t *testing.T, s Schedule) (due []time.Duration, gaps []float64) {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	a := newArrivals(&s)
	for {
		was := a.last
		at, ok := a.next()
		if !ok {
			return due, gaps
		}
		if len(due) > 0 {
			gaps = append(gaps, a.last-was-a.skipped)
		}
		due = append(due, at)
	}
}

func sum(all []float64) (s float64) {
	for _, x := range all {
		s += x
	}
	return s
}

func TestWrongSharesAreRefused(t *testing.T) {
	t.Parallel()
	for _, share := range []Share{{Index: 1}, {Index: -1, Of: 2}, {Index: 2, Of: 2}, {Of: -1}, {Of: ShareLimit + 1}} {
		s := ConstantRate(5)
		s.Share = share
		if err := s.Validate(); err == nil {
			t.Errorf("%+v is taken", share)
		}
	}
}
