package streams_test

import (
	"slices"
	"strings"
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/kind/streams"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/resulttest"
)

// streamTrials are the trials of one arm under the first load of [resulttest.Streams].
func streamTrials(r *result.Result, arm int) []*result.Trial {
	var all []*result.Trial
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if t := &r.Rounds[n].Trials[i]; t.Arm == arm && t.Load == 0 {
				all = append(all, t)
			}
		}
	}
	return all
}

// TestStreamsAreJudgedByTheirEvents: one event that is missing, wrong, twice or
// out of order in all rounds leaves an arm without a figure, and nothing else
// does; what a sound arm lacks is said (grb-M02, R2).
func TestStreamsAreJudgedByTheirEvents(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, c := range map[string]struct {
		spoil func(*result.Trial)
		gate  result.Gate
		says  string
	}{
		"sound": {func(*result.Trial) {}, "", ""},
		"missing": {func(x *result.Trial) {
			x.OK, x.Streams.Missing = x.OK-1, 1
			x.Errors = map[string]uint64{streams.MissingEvents: 1}
		}, result.Answers, "events failed: 1 missing"},
		"wrong": {func(x *result.Trial) {
			x.OK--
			x.Errors = map[string]uint64{result.WrongReply: 1}
		}, result.Answers, "events failed: 1 wrong_reply"},
		"twice":        {func(x *result.Trial) { x.Streams.Duplicated = 1 }, result.Sequence, "1 came twice"},
		"out of order": {func(x *result.Trial) { x.Streams.Reordered = 1 }, result.Sequence, "1 out of order"},
		"stray":        {func(x *result.Trial) { x.Streams.Stray = 1 }, result.Sequence, "1 that never were"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resulttest.Streams()
			c.spoil(streamTrials(r, 1)[7])
			a := analyse.Result(r)
			arm := a.Loads[0].Arms[1]
			failed := arm.Failed()
			if c.gate == "" {
				if len(failed) > 0 {
					t.Errorf("refused: %+v", failed)
				}
				return
			}
			if !slices.ContainsFunc(failed,
				func(f claim.Check) bool { return f.Gate == c.gate && strings.Contains(f.Detail, c.says) }) {
				t.Errorf("failed %+v; want %s with %q", failed, c.gate, c.says)
			}
			for _, row := range a.Loads[0].Rows {
				if row.Cells[1].Estimate.Known {
					t.Errorf("%s has a figure all the same", row.Metric)
				}
			}
		})
	}
}

// TestGatesOfCallsAreLeftOut of streams, by rule and with a word.
func TestGatesOfCallsAreLeftOut(t *testing.T) {
	t.Parallel()
	a := analyse.Result(resulttest.Streams())
	arm := a.Loads[0].Arms[0]
	for _, c := range arm.Checks {
		switch c.Gate {
		case result.Physics, result.Law, result.OnTime50, result.OnTime99, result.OnTime999, result.Ceiling,
			result.AboveFloor, result.Overload:
			t.Errorf("%s is applied to streams", c.Gate)
		}
		if strings.Contains(c.Detail, " calls") || strings.Contains(c.Detail, "replies") {
			t.Errorf("%s speaks of calls: %s", c.Gate, c.Detail)
		}
	}
	if !slices.ContainsFunc(arm.Notes, func(n string) bool { return strings.Contains(n, "left out by rule") }) {
		t.Errorf("not said: %q", arm.Notes)
	}
	for _, row := range a.Loads[0].Rows {
		if m, err := kinds.MetricByID(row.Metric); err != nil || strings.Contains(m.Title+m.Short, "req") {
			t.Errorf("%s of streams is per request: %v", row.Metric, err)
		}
	}
	if a.Loads[0].Primary != plan.EventServerCPU || a.Loads[0].Arms[1].Place != 1 {
		t.Errorf("primary %s, places %+v", a.Loads[0].Primary, a.Loads[0].Arms)
	}
}

// TestShortOfItsTarget: a rate that is not reached is said, from half a percent on (R14).
func TestShortOfItsTarget(t *testing.T) {
	t.Parallel()
	for share, said := range map[float64]bool{1: false, 0.996: false, 0.99: true} {
		r := resulttest.Streams()
		for _, x := range streamTrials(r, 1) {
			x.Completed = uint64(float64(x.Completed) * share)
		}
		notes := strings.Join(analyse.Result(r).Loads[0].Arms[1].Notes, "\n")
		if strings.Contains(notes, "short of its target") != said {
			t.Errorf("at %v of its rate: %s", share, notes)
		}
	}
}

// Events that slow readers did not read are counted separately. They affect no rank and are no failure, even if they
// were dropped.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	r := resulttest.Streams()
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if x := &r.Rounds[n].Trials[i]; x.Load == 1 && x.Arm == 2 {
				x.Streams.Dropped += 300
				x.Streams.Clients[0].Dropped += 300
			}
		}
	}
	l := analyse.Result(r).Loads[1]
	b := l.Arms[2].Streams.Behind
	if b == nil || b.Due != 20_000 || b.Sent != 16_000 || b.Decoded != 10_000 || b.Buffered != 5_900 ||
		b.PushedBack != 4_000 || b.Dropped != 100 {
		t.Errorf("behind: %+v", b)
	}
	for _, arm := range l.Arms {
		if arm.Place != 0 || len(arm.Failed()) > 0 {
			t.Errorf("%s: place %d, failed %+v", arm.Name, arm.Place, arm.Failed())
		}
	}
	for _, row := range l.Rows {
		if m, err := kinds.MetricByID(row.Metric); err != nil || m.Quantile > 0 {
			t.Errorf("slow readers are compared by %s", row.Metric)
		}
	}
	if flaws := consistency.Flaws(r); len(flaws) > 0 {
		t.Errorf("%v", flaws)
	}
}

// TestStreamsThatDoNotAddUp are found in a file.
func TestStreamsThatDoNotAddUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if flaws := consistency.Flaws(resulttest.Streams()); len(flaws) > 0 {
		t.Fatalf("a sound result: %v", flaws)
	}
	for want, edit := range map[string]func(*result.Trial){
		"streams: there are none":       func(x *result.Trial) { x.Streams = nil },
		"clients: 9":                    func(x *result.Trial) { x.Streams.Clients = x.Streams.Clients[:9] },
		"clients[2].delivery: it holds": func(x *result.Trial) { x.Streams.Clients[2].Right++ },
		"streams.missing: 7":            func(x *result.Trial) { x.Streams.Missing = 7 },
		"streams.duplicated: 1":         func(x *result.Trial) { x.Streams.Duplicated = 1 },
		"streams: the times of":         func(x *result.Trial) { x.Streams.Jitter.Record(5) },
		"planned: 53":                   func(x *result.Trial) { x.Planned-- },
	} {
		r := resulttest.Streams()
		edit(streamTrials(r, 0)[3])
		var said []string
		for _, f := range consistency.Flaws(r) {
			said = append(said, f.Path+": "+f.Says)
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, want) {
			t.Errorf("found %q; want %q", all, want)
		}
	}
	calls := resulttest.Closed()
	calls.Rounds[0].Trials[0].Streams = &result.Streams{}
	if len(consistency.Flaws(calls)) == 0 {
		t.Error("streams of a load that makes calls are not found")
	}
}

// TestStreamsAddUp over slices, and the first leaves the others as they are.
func TestStreamsAddUp(t *testing.T) {
	t.Parallel()
	first, second := streamTrials(resulttest.Streams(), 0)[0].Streams, streamTrials(resulttest.Streams(), 0)[1].Streams
	n := second.Clients[0].Delivery.Count()
	var all *result.Streams
	all = all.Add(*first).Add(*second)
	if all.Clients[0].Delivery.Count() != first.Clients[0].Delivery.Count()+n ||
		all.Clients[4].Planned != first.Clients[4].Planned+second.Clients[4].Planned {
		t.Errorf("%d times of the first stream", all.Clients[0].Delivery.Count())
	}
	if second.Clients[0].Delivery.Count() != n || len(all.Clients) != 10 {
		t.Errorf("the second slice has changed, or %d streams", len(all.Clients))
	}
}
