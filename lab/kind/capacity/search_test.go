package capacity_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// walkSearch tells a search what pass says of each rate, until it is over.
func walkSearch(t *testing.T, s *capacity.Search, tell func(rate float64) result.ProbeOutcome) (claim.Found, int) {
	t.Helper()
	for probes := 0; ; probes++ {
		rate, more := s.Next()
		if !more {
			return s.Found(), probes
		}
		if rate < s.Least || rate > s.Most {
			t.Fatalf("probe %d is at %v, outside %v to %v", probes, rate, s.Least, s.Most)
		}
		if probes > 200 {
			t.Fatalf("no end after %d probes", probes)
		}
		s.Tell(tell(rate))
	}
}

// TestSearchConverges: for any edge below which all passes, the search ends
// within the step it promises around it, or says on which side of what it may
// try the edge lies.
func TestSearchConverges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	for range 20_000 {
		closed := math.Exp(random.Float64() * 14) // 1 to a million
		s := &capacity.Search{Start: closed / 4, Least: closed / 256, Most: 16 * closed}
		edge := closed * math.Exp(random.NormFloat64()*2.5)
		found, probes := walkSearch(t, s, func(rate float64) result.ProbeOutcome {
			if rate <= edge {
				return result.ProbePassed
			}
			return result.ProbeFailed
		})
		if probes > 14 {
			t.Errorf("edge %v of %v: %d probes", edge, closed, probes)
		}
		ok := false
		switch found.Kind {
		case claim.CapacityFound:
			ok = found.Low <= edge && edge < found.High && found.High <= found.Low*(1+capacity.SearchStep)
		case claim.CapacityAtLeast:
			ok = edge >= s.Most && found.Low == s.Most
		case claim.CapacityBelow:
			ok = edge < s.Least && found.High == s.Least
		}
		if !ok || found.Limited {
			t.Errorf("edge %v, closed loop %v: found %+v", edge, closed, found)
		}
	}
}

// TestSearchEndsInNoise: near the edge a probe may say anything. The search
// still ends soon, and what it finds is not further off than the noise reaches.
func TestSearchEndsInNoise(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 5))
	for range 20_000 {
		const edge, reach = 1000, 0.2 // ± so much, passing is drawn
		s := &capacity.Search{Start: 400 + 400*random.Float64(), Least: 10, Most: 1e6}
		found, probes := walkSearch(t, s, func(rate float64) result.ProbeOutcome {
			if random.Float64() < (math.Log(edge)-math.Log(rate))/(2*reach)+0.5 {
				return result.ProbePassed
			}
			return result.ProbeFailed
		})
		v, ok := found.Value()
		if probes > 12 || !ok || v < edge*math.Exp(-2*reach) || v > edge*math.Exp(2*reach) {
			t.Errorf("found %+v with %d probes", found, probes)
		}
	}
}

// TestSearchWithAGeneratorThatIsLate: a probe that is spoiled now and then is
// repeated; where all are, the rate is one that the generator is not up to, and
// what was passed below it is a bound and no number.
func TestSearchWithAGeneratorThatIsLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		edge, able float64 // passes up to edge; the generator is fit up to able
		kind       claim.FoundKind
	}{
		"fit beyond the edge":     {1000, 5000, claim.CapacityFound},
		"fit below the edge":      {1000, 700, claim.CapacityAtLeast},
		"fit at nothing":          {1000, 1, claim.CapacityUnknown},
		"fit where all is failed": {1, 700, claim.CapacityBelow},
	} {
		found, probes := walkSearch(t, &capacity.Search{Start: 250, Least: 4, Most: 16000},
			func(rate float64) result.ProbeOutcome {
				switch {
				case rate > test.able:
					return result.ProbeSpoiled
				case rate > test.edge:
					return result.ProbeFailed
				}
				return result.ProbePassed
			})
		limited := test.kind == claim.CapacityAtLeast || test.kind == claim.CapacityUnknown
		if found.Kind != test.kind || found.Limited != limited || probes > 40 {
			t.Errorf("%s: %+v after %d probes", name, found, probes)
		}
		if test.kind == claim.CapacityAtLeast &&
			(found.Low > test.able || found.High > found.Low*(1+capacity.SearchStep)) {
			t.Errorf("%s: at least %v, the generator is fit up to %v", name, found.Low, test.able)
		}
	}
	turn := 0
	found, _ := walkSearch(t, &capacity.Search{Start: 250, Least: 4, Most: 16000},
		func(rate float64) result.ProbeOutcome {
			if turn++; turn%capacity.SearchTries != 0 {
				return result.ProbeSpoiled // all but every third
			}
			if rate > 1000 {
				return result.ProbeFailed
			}
			return result.ProbePassed
		})
	if found.Kind != claim.CapacityFound || found.Low > 1000 || found.High <= 1000 {
		t.Errorf("spoiled now and then: %+v", found)
	}
}
