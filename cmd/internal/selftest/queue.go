package selftest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"wirelab/lab/load"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// queueTest simulates a queue with known response times, M/M/1, and checks whether the intervals of its quantiles
// cover the truth as often as stated.
func queueTest() Test {
	return Test{
		Name:     "queue",
		Shows:    "95 % intervals of quantiles cover the true ones, though calls in a queue depend on each other",
		Required: "each covers in 90 to 98 % of 200 repeats of 10 rounds",
		Short:    8e9, Long: 25e9,
		run: func(ctx context.Context, e Env) (finding, error) {
			var figures []result.Figure
			for _, c := range []struct {
				busy  float64
				calls int // per round: enough for many busy periods
			}{{0.3, 10_000}, {0.7, 10_000}, {0.9, 100_000}} {
				e.Say(fmt.Sprintf("a queue %.0f %% busy", 100*c.busy))
				found, err := coverage(ctx, c.busy, c.calls, e.Seed)
				if err != nil {
					return finding{}, err
				}
				figures = append(figures, found...)
			}
			low, high := extremes(figures)
			return judged(fmt.Sprintf("covered in %.1f to %.1f %%", low, high), figures...), nil
		},
	}
}

// repeats is how often each queue is measured.
const repeats = 200

// coverage measures a queue with the load busy repeatedly, and counts how often the interval of each quantile
// contains the true value.
func coverage(ctx context.Context, busy float64, calls int, seed uint64) ([]result.Figure, error) {
	const rounds, mean = 10, 1e6 // mean service time in ns
	quantiles := []float64{0.5, 0.99}
	covered := make([]int, len(quantiles))
	for repeat := range repeats {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		histograms := make([]*stat.Histogram, rounds)
		for r := range histograms {
			random := rand.New(rand.NewPCG(seed, uint64(repeat*rounds+r)))
			histograms[r] = queue(busy, mean, calls, random)
		}
		for i, q := range quantiles {
			found, err := stat.QuantileInterval(histograms, q, stat.DefaultAlpha)
			if err != nil {
				return nil, err
			}
			// The response time of M/M/1 has an exponential distribution.
			if truth := -math.Log1p(-q) * mean / (1 - busy); found.Low <= truth && truth <= found.High {
				covered[i]++
			}
		}
	}
	figures := make([]result.Figure, len(quantiles))
	for i, q := range quantiles {
		figures[i] = result.Figure{
			Name: fmt.Sprintf("%.0f %% busy, %d calls a round: p%g", 100*busy, calls, 100*q), Unit: "%",
			Found: 100 * float64(covered[i]) / repeats, Low: 90, High: 98,
		}
	}
	return figures, nil
}

// queue returns the response times of calls of an M/M/1 queue in its steady state. It uses Lindley's recursion: a
// call waits for the work that the previous one left.
func queue(busy, mean float64, calls int, random *rand.Rand) *stat.Histogram {
	h := stat.NewHistogram()
	wait := 0.0
	if random.Float64() < busy { // in the steady state this share of calls has to wait
		wait = random.ExpFloat64() * mean / (1 - busy)
	}
	for range calls {
		response := wait + random.ExpFloat64()*mean
		h.Record(int64(response))
		wait = max(0, response-random.ExpFloat64()*mean/busy)
	}
	return h
}

// extremes returns the smallest and the largest of the measured values.
func extremes(figures []result.Figure) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, f := range figures {
		low, high = min(low, f.Found), max(high, f.Found)
	}
	return low, high
}

// mergeTest records the same calls with one driver and with four.
func mergeTest() Test {
	return Test{
		Name:     "merge",
		Shows:    "four generators that share a load tell what one tells that makes it alone",
		Required: "every quantile equal within a histogram's precision, 0.1 %",
		Short:    1e9, Long: 1e9,
		run: func(_ context.Context, e Env) (finding, error) {
			random := rand.New(rand.NewPCG(e.Seed, 4))
			alone, shares := load.NewRecording(), make([]*load.Recording, 4)
			for i := range shares {
				shares[i] = load.NewRecording()
			}
			for i := range 200_000 {
				ns := int64(math.Exp(random.NormFloat64()*1.5 + 12))
				alone.Response.Record(ns)
				shares[i%len(shares)].Response.Record(ns)
			}
			joined := load.NewRecording()
			for _, share := range shares {
				crossed, err := crossed(share)
				if err != nil {
					return finding{}, err
				}
				joined.Join(crossed)
			}
			worst, at := 0.0, 0.0
			for _, q := range []float64{0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1} {
				one, four := float64(alone.Response.Quantile(q)), float64(joined.Response.Quantile(q))
				if off := math.Abs(four-one) / one; off > worst {
					worst, at = off, q
				}
			}
			return judged(
				fmt.Sprintf("200,000 calls, of which no quantile differs by more than %.3f %%", 100*worst),
				result.Figure{
					Name: "largest difference of a quantile", Unit: "%", Found: 100 * worst, High: 0.1,
					Note: fmt.Sprintf("at %g", at),
				},
				result.Figure{
					Name: "calls lost or doubled", Unit: "calls",
					Found: math.Abs(float64(alone.Response.Count()) - float64(joined.Response.Count())),
				},
			), nil
		},
	}
}

// crossed returns a recording as it arrives at the other end of a pipe.
func crossed(r *load.Recording) (*load.Recording, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	arrived := &load.Recording{}
	return arrived, json.Unmarshal(line, arrived)
}
