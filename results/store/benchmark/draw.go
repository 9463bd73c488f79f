package benchmark

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"

	"wirelab/lab/stat"
)

// Size is the greatest number of calls in the sample of a run. A p99 computed from that many has ten calls beyond it.
// With more, a database of thousands of results would consist mostly of samples.
const Size = 1000

// Drawn is a random sample of a run's calls, without replacement, for SQL that needs rows of calls. wirelab stores no
// single calls: a latency is that of a histogram's bucket, to within 0.1 %, and of the time only the round is known.
type Drawn struct {
	Seed       uint64
	Population uint64
	Rounds     []int32
	Latencies  []*int64  // ns; nil if the call failed
	Errors     []*string // the code of a failed call; nil if it did not fail
}

// Draw samples the calls of a run. The seed follows from the result's id, arm and load, so that every store with the
// result has the same sample.
func (u *Run) Draw(id string) Drawn {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d/%d", id, u.Arm, u.Load) // it never fails
	d := Drawn{Seed: h.Sum64()}
	var groups []group
	for i, t := range u.Trials {
		for _, b := range t.Response.Buckets() {
			groups = append(groups,
				group{n: b.Count, round: int32(u.Rounds[i]), latency: new(min(b.High, int64(stat.Limit)))})
		}
		for _, kind := range slices.Sorted(maps.Keys(t.Errors)) {
			groups = append(groups, group{n: t.Errors[kind], round: int32(u.Rounds[i]), failure: new(kind)})
		}
	}
	for i, g := range groups {
		if d.Population+g.n < g.n { // more than possible: a fabricated result
			groups = groups[:i]
			break
		}
		d.Population += g.n
	}
	random := rand.New(rand.NewPCG(d.Seed, 0))
	d.Rounds, d.Latencies, d.Errors = []int32{}, []*int64{}, []*string{}
	at, upto := 0, uint64(0) // groups[at] contains the ranks from upto-n on
	for _, rank := range ranks(random, d.Population, Size) {
		for at == 0 || rank >= upto {
			upto += groups[at].n
			at++
		}
		g := groups[at-1]
		d.Rounds, d.Latencies = append(d.Rounds, g.round), append(d.Latencies, g.latency)
		d.Errors = append(d.Errors, g.failure)
	}
	return d
}

// group has calls that cannot be told apart.
type group struct {
	n       uint64
	round   int32
	latency *int64
	failure *string
}

// ranks draws k of the numbers 0 to n-1 (all, if there are no more), in ascending order. It uses Floyd's algorithm,
// which needs memory only for k.
func ranks(random *rand.Rand, n uint64, k int) []uint64 {
	least := uint64(0)
	if n > uint64(k) {
		least = n - uint64(k)
	}
	taken := map[uint64]bool{}
	for i := least; i < n; i++ {
		if v := random.Uint64N(i + 1); !taken[v] {
			taken[v] = true
		} else {
			taken[i] = true
		}
	}
	return slices.Sorted(maps.Keys(taken))
}
