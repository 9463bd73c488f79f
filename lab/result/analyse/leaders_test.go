package analyse_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/rank"
	"wirelab/lab/result/resulttest"
)

// ranking is a ranking of a result's only load.
func ranking(t *testing.T, r *result.Result, metric string) claim.Ranking {
	t.Helper()
	all := analyse.Result(r).Loads[0].Rankings
	i := slices.IndexFunc(all, func(c claim.Ranking) bool { return c.Metric == metric })
	if i < 0 {
		t.Fatalf("no contest of %s among %d", metric, len(all))
	}
	return all[i]
}

// ways makes paths by their answer times, in µs, with 50 calls in flight. All are durable but those from index early
// on.
func ways(rounds, early int, answers ...int) *result.Result {
	var all []resulttest.Way
	for i, us := range answers {
		w := resulttest.Way{
			Name: "log-" + string(rune('a'+i)), Answer: time.Duration(us) * time.Microsecond,
			CPU: time.Duration(us) * time.Microsecond / 4, Guarantee: &result.Guarantee{}, Database: "SQLite 3",
		}
		if i >= early {
			w.Guarantee = resulttest.Queued("RabbitMQ", "classic", false)
		}
		all = append(all, w)
	}
	return resulttest.Ways(rounds, plan.Load{InFlight: 50}, all...)
}

// Each pair of arms counts, whichever is first in the plan. An arm is first only if it is proved better than each
// other.
func TestLeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why     string
		rounds  int
		answers []int
		state   claim.LeadersState
		first   []int
		next    int
		ratio   float64 // of the next to the first
	}{
		{"the last arm of the plan may be first", 12, []int{700, 900, 500}, claim.LeaderClear, []int{2}, 0, 1.4},
		{"and the first too", 12, []int{500, 700}, claim.LeaderClear, []int{0}, 1, 1.4},
		{"two alike share the place before a third", 14, []int{900, 700, 701}, claim.LeadersAlike, nil, -1, 0},
		{"six rounds bear no claim, however large", 6, []int{500, 900}, claim.LeadersFew, nil, -1, 0},
		{"one has nobody to be before", 12, []int{500}, claim.LeaderAlone, []int{0}, -1, 0},
	} {
		got := ranking(t, ways(c.rounds, 9, c.answers...), plan.ResponseP50).All
		if got.State != c.state || got.Next != c.next || c.first != nil && !slices.Equal(got.First, c.first) {
			t.Errorf("%s: %+v", c.why, got)
		}
		if c.ratio > 0 && (got.Lead == nil || got.Lead.Verdict != claim.Worse ||
			math.Abs(got.Lead.Ratio/c.ratio-1) > 0.05 || got.Lead.Low > got.Lead.Ratio ||
			got.Lead.High < got.Lead.Ratio) {
			t.Errorf("%s: lead %+v, want a ratio of about %.2f", c.why, got.Lead, c.ratio)
		}
	}
	if few := ranking(t, ways(6, 9, 500, 900), plan.ResponseP50).All; few.Needed != claim.MinRounds {
		t.Errorf("needs %d rounds", few.Needed)
	}
	if alike := ranking(t, ways(14, 9, 900, 700, 701), plan.ResponseP50).All; len(alike.First) != 2 ||
		slices.Contains(alike.First, 0) {
		t.Errorf("alike: %+v", alike)
	}
}

// With noise between two arms none is first, and the one behind both stays behind.
func TestLeadersUndecided(t *testing.T) {
	t.Parallel()
	r := ways(12, 9, 700, 700, 1500)
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			u := r.Rounds[n].Trials[i].Server
			if n%2 == r.Rounds[n].Trials[i].Arm%2 {
				u.CPU += u.CPU / 3
			}
		}
	}
	got := ranking(t, r, rank.PipelineCPU)
	if got.All.State != claim.LeadersShared || len(got.All.First) != 2 || slices.Contains(got.All.First, 2) ||
		got.All.Lead != nil {
		t.Errorf("%+v", got.All)
	}
	behind := got.Entrants[2].Behind
	if behind == nil || behind.Verdict != claim.Worse || behind.Ratio < 1.3 {
		t.Errorf("behind: %+v", behind)
	}
}

// A path that answers before an entry is durable may have the best figure. The first of the durable ones is then
// shown next to it.
func TestLeadersOfDurableArms(t *testing.T) {
	t.Parallel()
	got := ranking(t, ways(12, 2, 900, 700, 500), plan.ResponseP50)
	if got.All.State != claim.LeaderClear || got.All.First[0] != 2 || got.Entrants[2].Durable ||
		!got.Entrants[0].Durable {
		t.Fatalf("%+v", got)
	}
	if d := got.Durable; d == nil || d.State != claim.LeaderClear || d.First[0] != 1 || d.Next != 0 ||
		d.Lead.Ratio < 1.2 {
		t.Errorf("of the durable: %+v", d)
	}
	if all := ranking(t, ways(12, 9, 900, 700), plan.ResponseP50); all.Durable != nil {
		t.Errorf("all are durable, and %+v", all.Durable)
	}
}

// An arm that lost entries has no figure in any ranking, but the others keep theirs. More arms need more rounds.
// Entries that are not stored count in no rate (ms-M01, ms-M15, R2).
func TestContestsLeaveOutWhatIsRefused(t *testing.T) {
	t.Parallel()
	r := resulttest.Ways(12, plan.Load{InFlight: 50},
		resulttest.Way{
			Name: "log-a", Answer: 500 * time.Microsecond, CPU: 1e5, Missing: 3,
			Guarantee: &result.Guarantee{}, Database: "x",
		},
		resulttest.Way{
			Name: "log-b", Answer: 700 * time.Microsecond, CPU: 1e5, Guarantee: &result.Guarantee{},
			Database: "x",
		},
		resulttest.Way{
			Name: "log-c", Answer: 650 * time.Microsecond, Later: time.Second, CPU: 1e5, Unconfirmed: true,
			Guarantee: resulttest.Queued("RabbitMQ", "quorum", false),
		},
	)
	for _, c := range analyse.Result(r).Loads[0].Rankings {
		if c.Entrants[0].Estimate.Known || c.Entrants[0].Estimate.Why == "" || slices.Contains(c.All.First, 0) {
			t.Errorf("%s: entries are missing, and %+v", c.Metric, c.Entrants[0])
		}
	}
	if rate := ranking(t, r, rank.StoredRate); rate.All.First[0] != 1 || rate.All.State != claim.LeaderClear {
		t.Errorf("who answers sooner and stores a second later stores most: %+v", rate.All)
	}
	if told := ranking(t, r, plan.ConfirmedP50); told.Entrants[2].Estimate.Why != "no reply confirms its entries" ||
		told.All.State != claim.LeaderAlone {
		t.Errorf("unconfirmed: %+v", told)
	}
	open := analyse.Result(resulttest.Ways(12, plan.Load{Rate: 800, Arrivals: plan.Poisson, InFlight: 64},
		resulttest.Way{Name: "log-a", Answer: 5e5, CPU: 1e5})).Loads[0].Rankings
	if len(open) != 6 || slices.ContainsFunc(open, func(c claim.Ranking) bool { return c.Metric == rank.StoredRate }) {
		t.Errorf("an open loop's rate was given, and %d contests", len(open))
	}
	if all := analyse.Result(resulttest.Closed()).Loads[0].Rankings; all != nil {
		t.Error("calls that nobody follows are ways to hand an entry on")
	}
}

// A pair that differs only by noise must not be called different more often than promised, however many pairs there
// are (docs/concepts/claims.md: Holm over arm pairs).
func TestAlikeWaysAreRarelyToldApart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const repeats = 60
	claims := 0
	for seed := range uint64(repeats) {
		r := noisy(seed, 12, 0.05, 20, 20, 20, 20, 20)
		for n := range r.Rounds {
			for i := range r.Rounds[n].Trials {
				tr := &r.Rounds[n].Trials[i]
				tr.Followed = &result.Followed{
					Sent: tr.Sent, Accepted: tr.OK, Stored: tr.OK,
					ConfirmedAfter: tr.Response, StoredAfter: tr.Response, Confirmed: tr.OK,
				}
			}
		}
		for _, e := range ranking(t, r, rank.PipelineCPU).Entrants {
			if e.Behind != nil && (e.Behind.Verdict == claim.Worse || e.Behind.Verdict == claim.Better) {
				claims++
				break
			}
		}
	}
	if limit := 0.05*repeats + 2*math.Sqrt(repeats*0.05*0.95); float64(claims) > limit {
		t.Errorf("a false claim in %d of %d, at most %.0f are allowed", claims, repeats, limit)
	}
}

// What an answer guarantees to a caller, for each path.
func TestDurable(t *testing.T) {
	t.Parallel()
	rabbit := func(kind string, edit func(*result.Guarantee)) *result.Guarantee {
		h := resulttest.Queued("RabbitMQ", kind, true)
		edit(h)
		return h
	}
	keep := func(*result.Guarantee) {}
	for _, c := range []struct {
		why  string
		arm  result.Arm
		want bool
	}{
		{"stored in a database first", result.Arm{Guarantee: &result.Guarantee{}, Database: "SQLite 3"}, true},
		{"stored in memory", result.Arm{Guarantee: &result.Guarantee{}}, false},
		{"on disk before it is confirmed", result.Arm{Guarantee: rabbit("classic", keep)}, true},
		{"unconfirmed", result.Arm{Guarantee: rabbit("quorum", func(h *result.Guarantee) { h.Confirms = false })}, false},
		{
			"transient in a classic queue",
			result.Arm{Guarantee: rabbit("classic", func(h *result.Guarantee) { h.Persistent = false })},
			false,
		},
		{
			"transient in a quorum queue, which is on disk always",
			result.Arm{Guarantee: rabbit("quorum", func(h *result.Guarantee) { h.Persistent = false })},
			true,
		},
		{
			"a broker elsewhere, not asked for its fsync",
			result.Arm{Guarantee: rabbit("quorum", func(h *result.Guarantee) { h.Sync = result.SyncUnknown })},
			false,
		},
		{"not recorded", result.Arm{Database: "SQLite 3"}, false},
	} {
		r := &result.Result{Arms: []result.Arm{c.arm}}
		if r.Durable(0) != c.want {
			t.Errorf("%s: %v", c.why, !c.want)
		}
	}
	if r := (&result.Result{}); r.Durable(0) || r.Durable(-1) {
		t.Error("an arm that there is not is durable")
	}
	if most := rank.MostMissing(2_995); most < 0.00099 || most > 0.00101 || rank.MostMissing(0) != 1 {
		t.Errorf("0 of 2,995 may be %v", most)
	}
}
