package postgres

import (
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/stat"
	"wirelab/results/store/storetest"
)

// driven has another program make the calls of the second arm. Before that was stored as what it is, it was none.
func driven(n int, told *result.Told) *result.Result {
	r := storetest.Sample(n)
	r.Plan.Arms[1].Driver, r.Arms[1].Driver = "tool:wrk", "tool:wrk"
	for i := range r.Rounds {
		for j := range r.Rounds[i].Trials {
			t := &r.Rounds[i].Trials[j]
			if t.Arm != 1 {
				continue
			}
			t.Told, t.Steady, t.Drifting, t.Planned, t.Unsent, t.Late = told, false, false, 0, 0, 0
			t.Driver.Allocations, t.WireSent, t.WireReceived, t.Connections, t.Open = nil, 0, 0, 0, 0
			t.Response, t.Service = stat.NewHistogram(), stat.NewHistogram()
			t.Gaps, t.Wake, t.Punctual, t.Outside, t.Failed = nil, nil, nil, nil, nil
		}
	}
	return r
}

// Values that another load generator does not report of its calls are NULL, and not 0: in a result that is stored now,
// and in one that an earlier wirelab stored.
func TestUntoldIsNull(t *testing.T) {
	t.Parallel()
	const untold = `SELECT count(*) FILTER (WHERE arm = 1),
		count(*) FILTER (WHERE arm = 1 AND num_nulls(steady, drifting, planned, unsent, late, driver_allocations,
			wire_sent, wire_received, connections, open_connections) = 10),
		count(*) FILTER (WHERE arm <> 1 AND num_nulls(steady, drifting, planned, unsent, late, driver_allocations,
			wire_sent, wire_received, connections, open_connections) > 0)
		FROM wirelab_results.trials`
	dsn := database(t, server)
	early, err := openWith(t, dsn, earlier(t, "00004_origin.sql", nil))
	if err != nil {
		t.Fatal(err)
	}
	puts(t, early, driven(1, nil))
	check := func(when string) {
		var all, null, others, runs int
		s := open(t, dsn)
		one(t, s, untold, nil, &all, &null, &others)
		if all == 0 || null != all || others != 0 {
			t.Errorf("%s: of %d trials by a tool %d have NULLs, and %d of others", when, all, null, others)
		}
		one(t, s, `SELECT count(*) FROM wirelab_results.runs
			WHERE (planned IS NULL OR unsent IS NULL) <> (arm = 1)`, nil, &runs)
		if runs != 0 {
			t.Errorf("%s: of %d runs it is wrong whether planned and unsent are known", when, runs)
		}
	}
	check("stored by an earlier wirelab")
	puts(t, open(t, dsn), driven(2, &result.Told{Tool: "wrk"}))
	check("stored now")
}
