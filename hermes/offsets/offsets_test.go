package offsets_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/offsets"
)

// A set says of every offset what a map of them says, as long as it forgets none.
func TestSetIsAsAMap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var s offsets.Set
		in := map[uint64]bool{}
		for range 60 {
			first := rng.Uint64N(300)
			last := first + rng.Uint64N(12)
			s.Add(broker.Range{First: first, Last: last})
			for o := first; o <= last; o++ {
				in[o] = true
			}
			first = rng.Uint64N(320)
			last = first + rng.Uint64N(20)
			want, missing := uint64(0), false
			for o := first; o <= last && !missing; o++ {
				if !in[o] {
					want, missing = o, true
				}
			}
			if got, ok := s.Missing(broker.Range{First: first, Last: last}); got != want || ok != missing {
				t.Fatalf("seed %d: of %d to %d: %d, %v; want %d, %v", seed, first, last, got, ok, want, missing)
			}
		}
	}
}

// A set keeps so many ranges and no more; it forgets the lowest, and never misses what was added.
func TestSetIsBounded(t *testing.T) {
	t.Parallel()
	var s offsets.Set
	const n = 3 * offsets.Most
	for o := range uint64(n) {
		s.Add(broker.Range{First: 2 * o, Last: 2 * o})
	}
	if _, missing := s.Missing(broker.Range{First: 1, Last: 1}); missing {
		t.Error("an offset before all that is kept is missing")
	}
	first := uint64(2*(n-offsets.Most)) - 1
	if got, missing := s.Missing(broker.Range{First: 0, Last: math.MaxUint64}); !missing || got != first {
		t.Errorf("the first that is missing is %d, %v; want %d", got, missing, first)
	}
	if s.Len() != offsets.Most {
		t.Errorf("it keeps %d ranges, want %d", s.Len(), offsets.Most)
	}
	s.Forget(first + 6) // between two of them
	if got, missing := s.Missing(broker.Range{First: 0, Last: math.MaxUint64}); !missing || got != first+6 ||
		s.Len() != offsets.Most-3 {
		t.Errorf("after forgetting, the first that is missing is %d, %v, of %d ranges", got, missing, s.Len())
	}
	s.Add(broker.Range{First: 0, Last: math.MaxUint64})
	if got, missing := s.Missing(broker.Range{First: 0, Last: math.MaxUint64}); missing {
		t.Errorf("%d is missing of all", got)
	}
	s.Clear()
	if _, missing := s.Missing(broker.Range{}); !missing {
		t.Error("a cleared set has something")
	}
}
