package messages_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
	measures "wirelab/lab/result/metric"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// Made-up results of messages are ones that could have been measured, of which
// nothing is refused.
func TestMadeUpMessagesAreSound(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*result.Result{
		"live":      resulttest.Messages(),
		"scenarios": resulttest.MessageScenarios(),
	} {
		if wrong := consistency.Flaws(r); len(wrong) > 0 {
			t.Errorf("%s: %v", name, wrong)
		}
		for _, l := range analyse.Result(r).Loads {
			for _, arm := range l.Arms {
				if len(arm.Failed()) > 0 || arm.Place == 0 {
					t.Errorf("%s, %s: %s in place %d: %+v", name, l.Name, arm.Name, arm.Place, arm.Failed())
				}
			}
		}
	}
}

// What a driver sends by itself is judged by the load's fastest arm, and a rate that is
// near it is marked; of messages at a rate the time is, as of calls.
func TestDriversOfMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	live := analyse.Result(resulttest.Messages()).Loads[0]
	for _, arm := range live.Arms {
		i := slices.IndexFunc(arm.Checks, func(c claim.Check) bool { return c.Gate == result.AboveFloor })
		if i < 0 {
			t.Fatalf("%s: nobody judged its driver", arm.Name)
		}
		c, limited := arm.Checks[i], strings.HasPrefix(arm.Name, "rabbitmq")
		if c.Limited != limited || arm.Floor.Limited != limited || c.Limit != 3 ||
			strings.HasPrefix(c.Detail, "floor-limited: ") != limited || len(c.Rounds) != 12 {
			t.Errorf("%s, limited %v: %+v", arm.Name, limited, c)
		}
		if f := arm.Floor; f.Throughput < 13_000 || f.Headroom < 2 || f.Headroom > 6 {
			t.Errorf("%s: %+v", arm.Name, f)
		}
		if marks := arm.Marks(metric(t, plan.MessageRate)); len(marks) > 0 != limited {
			t.Errorf("%s: marks %v", arm.Name, marks)
		}
	}
	for _, arm := range analyse.Result(resulttest.MessageScenarios()).Loads[0].Arms {
		if !arm.Floor.Known || arm.Floor.Headroom != 0 { // of the time, at a rate
			t.Errorf("%s: %+v", arm.Name, arm.Floor)
		}
	}
}

// Messages that were sent late refuse a quantile only as far as that moved it
// (docs/adr/0031).
func TestLatenessOfMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	late := func(r *result.Result, by time.Duration, share float64) {
		for n := range r.Rounds {
			for i := range r.Rounds[n].Trials {
				trial := &r.Rounds[n].Trials[i]
				if trial.Load != 0 || trial.Arm != 1 {
					continue
				}
				late := uint64(share * float64(trial.OK))
				trial.Lag = stat.NewHistogram()
				trial.Lag.RecordN(1000, trial.Sent-late)
				trial.Lag.RecordN(int64(by), late)
				trial.Wake, trial.Punctual = trial.Lag.Clone(), stat.NewHistogram()
				// As if the late ones had been the slowest: that is where they would tell.
				const step = 8 // near enough, and as much quicker
				for k := uint64(0); k < trial.OK; k += step {
					is := trial.Response.Quantile((float64(k) + step/2) / float64(trial.OK))
					if k >= trial.OK-late {
						is -= int64(by)
					}
					trial.Punctual.RecordN(max(1, is), min(step, trial.OK-k))
				}
			}
		}
	}
	for name, c := range map[string]struct {
		by    time.Duration
		share float64
		want  []result.Gate
	}{
		"on time":               {10 * time.Microsecond, 0.5, nil},
		"a few late, by little": {50 * time.Microsecond, 0.02, nil},
		"some late, which moves the tail": {
			5 * time.Millisecond, 0.02,
			[]result.Gate{result.OnTime99, result.OnTime999},
		},
		"all late": {
			time.Millisecond, 1,
			[]result.Gate{result.OnTime50, result.OnTime99, result.OnTime999},
		},
	} {
		r := resulttest.MessageScenarios()
		late(r, c.by, c.share)
		var got []result.Gate
		for _, check := range analyse.Result(r).Loads[0].Arms[1].Checks {
			if strings.HasPrefix(string(check.Gate), "on time") && !check.OK {
				got = append(got, check.Gate)
				if check.Unit != "of the quantile" || check.Value <= check.Limit ||
					!strings.Contains(check.Detail, "generator late: ") {
					t.Errorf("%s: %+v", name, check)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// metric finds one.
func metric(t *testing.T, id string) measures.Metric {
	t.Helper()
	m, err := kinds.MetricByID(id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sent is the trial of an arm in a round under the first load.
func sent(r *result.Result, round, arm int) *result.Trial {
	trials := r.Rounds[round].Trials
	return &trials[slices.IndexFunc(trials, func(t result.Trial) bool { return t.Arm == arm && t.Load == 0 })]
}

// A single fault in one round leaves the arm without any figure. Excused messages, and messages that were not
// acknowledged, do not.
func TestMessagesAreAccountedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*result.Messages)
		says  string
		note  string
	}{
		"sound": {func(*result.Messages) {}, "", ""},
		"missing": {
			func(m *result.Messages) { m.Missing, m.Delivered = 1, m.Delivered-1 },
			"1 acknowledged but never delivered", "",
		},
		"duplicated": {func(m *result.Messages) { m.Duplicated = 1 }, "1 delivered again for no reason", ""},
		"reordered":  {func(m *result.Messages) { m.Reordered = 1 }, "1 delivered out of order for no reason", ""},
		"corrupted":  {func(m *result.Messages) { m.Corrupted = 1 }, "1 not as they were sent", ""},
		"misrouted":  {func(m *result.Messages) { m.Misrouted = 1 }, "1 delivered under another topic", ""},
		"stray":      {func(m *result.Messages) { m.Stray = 1 }, "1 delivered that were never sent", ""},
		"redelivered": {
			func(m *result.Messages) { m.Redelivered = 2 }, "",
			"2 messages were delivered again after something had been done to the broker or a reader, or when their " +
				"sender got no answer",
		},
		"displaced": {
			func(m *result.Messages) { m.Displaced = 2 }, "",
			"2 messages were delivered out of order after something had been done",
		},
		"both": {
			func(m *result.Messages) { m.Redelivered, m.Displaced = 2, 3 }, "",
			"2 messages were delivered again, and 3 out of order, after something had been done",
		},
		"unsure": {func(m *result.Messages) { m.Unsure = 2 }, "", "2 messages were not acknowledged"},
		"kept":   {func(m *result.Messages) { m.Kept = 2 }, "", "2 messages were delivered although"},
	} {
		r := resulttest.Messages()
		c.spoil(sent(r, 3, 1).Messages)
		load := analyse.Result(r).Loads[0]
		arm := load.Arms[1]
		spoiled := slices.ContainsFunc(arm.Failed(), func(f claim.Check) bool { return f.Gate == result.Delivery })
		if spoiled != (c.says != "") || !strings.Contains(strings.Join(arm.Invalid(), "; "), c.says) {
			t.Errorf("%s: refused %v: %q, want %q", name, spoiled, arm.Invalid(), c.says)
		}
		if !strings.Contains(strings.Join(arm.Notes, "; "), c.note) {
			t.Errorf("%s: notes %q, want %q", name, arm.Notes, c.note)
		}
		for _, row := range load.Rows {
			if spoiled && row.Cells[1].Estimate.Known {
				t.Errorf("%s: the arm has a %s", name, row.Metric)
			}
		}
		if rate := load.Row(plan.MessageRate).Cells[1].Estimate; rate.Known == spoiled || spoiled && arm.Place != 0 {
			t.Errorf("%s: messages/s %+v in place %d", name, rate, arm.Place)
		}
	}
}

// An outage that the window cut off in one round is no number, and the rest is.
func TestOutageThatNobodySawTheEndOf(t *testing.T) {
	t.Parallel()
	r := resulttest.MessageScenarios()
	at := slices.IndexFunc(r.Plan.Loads, plan.Load.Fails)
	for i := range r.Rounds[2].Trials {
		if one := &r.Rounds[2].Trials[i]; one.Load == at && one.Arm == 1 {
			one.Messages.Done[0].Again = 0
		}
	}
	a := analyse.Result(r)
	load := a.Loads[slices.IndexFunc(a.Loads, func(l claim.LoadAnalysis) bool { return l.Load == at })]
	for _, id := range []string{plan.SendOutage, plan.DeliveryOutage} {
		cells := load.Row(id).Cells
		if cells[1].Estimate.Known || !cells[0].Estimate.Known {
			t.Errorf("%s of the arm %+v, of the other %+v", id, cells[1].Estimate, cells[0].Estimate)
		}
	}
	if !load.Row(plan.ResponseP50).Cells[1].Estimate.Known {
		t.Error("what was acknowledged took the time that it took")
	}
	if failed := load.Arms[1].Failed(); len(failed) != 1 ||
		!strings.Contains(failed[0].Detail, "recovery not seen, in 1 of 12 rounds") {
		t.Errorf("says %+v", failed)
	}
}

// A file whose account does not add up, or does not match the sends, is reported.
func TestMessagesMustAddUp(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*result.Messages){
		"one more sent":         func(m *result.Messages) { m.Sent++ },
		"one more acknowledged": func(m *result.Messages) { m.Acknowledged++ },
		"one fewer missing":     func(m *result.Messages) { m.Delivered-- },
		"more than was sent":    func(m *result.Messages) { m.Expected, m.Delivered = m.Expected+1, m.Delivered+1 },
		"no groups":             func(m *result.Messages) { m.Groups = 0 },
		"more in the window":    func(m *result.Messages) { m.DeliveredInWindow = m.Delivered + 1 },
		"acknowledged in it":    func(m *result.Messages) { m.AcknowledgedInWindow = m.Acknowledged + 1 },
		"no times":              func(m *result.Messages) { m.DeliveredAfter = nil },
		"times of others":       func(m *result.Messages) { m.DeliveredAfter.RecordN(1e6, m.Delivered) },
		"fewer than the sends": func(m *result.Messages) {
			m.Sent, m.Acknowledged, m.Expected, m.Delivered = m.Sent/2, m.Sent/2-m.Unsure, m.Sent/2, m.Sent/2
			m.AcknowledgedInWindow, m.DeliveredInWindow, m.DeliveredAfter = 0, 0, stat.NewHistogram()
		},
	} {
		r := resulttest.Messages()
		edit(sent(r, 0, 0).Messages)
		if wrong := consistency.Flaws(r); len(wrong) != 1 || !strings.HasSuffix(wrong[0].Path, ".messages") {
			t.Errorf("%s: %v", name, wrong)
		}
	}
	r := resulttest.Messages()
	sent(r, 0, 0).Messages = nil
	if len(consistency.Flaws(r)) != 1 {
		t.Error("messages that nobody followed go unnoticed")
	}
	plain := resulttest.Two()
	before := len(consistency.Flaws(plain))
	plain.Rounds[0].Trials[0].Messages = &result.Messages{}
	if len(consistency.Flaws(plain)) != before+1 {
		t.Error("messages of a load of calls go unnoticed")
	}
}

// The backlogs of a long and a short slice keep their peaks and have the same step.
func TestBacklogsAddAtTheCoarserStep(t *testing.T) {
	t.Parallel()
	var sum *result.Messages
	sum = sum.Add(result.Messages{Backlog: [][]int64{{1, 9, 2, 3, 4}}})
	sum = sum.Add(result.Messages{Backlog: [][]int64{{7, 5}}, Merged: 2})
	sum = sum.Add(result.Messages{Backlog: [][]int64{{0, 8, 0}}})
	if want := [][]int64{{9, 3, 4}, {7, 5}, {8, 0}}; sum.Merged != 2 ||
		!slices.EqualFunc(sum.Backlog, want, slices.Equal[[]int64]) || sum.Peak() != 9 {
		t.Errorf("%v, each of %d", sum.Backlog, sum.Merged)
	}
}

// What two slices sent is added up, and changing the sum changes neither.
func TestMessagesAdd(t *testing.T) {
	t.Parallel()
	r := resulttest.MessageScenarios()
	one, two := *sent(r, 0, 2).Messages, *sent(r, 1, 2).Messages
	one.Done, two.Done = []result.Disturbance{{Who: "node 1"}}, []result.Disturbance{{Who: "node 2"}}
	first := one.DeliveredAfter.Count()
	var all *result.Messages
	all = all.Add(one).Add(two)
	if err := all.Whole(); err != nil {
		t.Error(err)
	}
	if all.Sent != one.Sent+two.Sent || all.Delivered != one.Delivered+two.Delivered ||
		all.SendOutage != max(one.SendOutage, two.SendOutage) ||
		len(all.Backlog) != 2 || len(all.Done) != 2 || all.Groups != one.Groups ||
		all.Peak() != max(one.Peak(), two.Peak()) {
		t.Errorf("%+v", all)
	}
	if got := all.DeliveredAfter.Count(); got != first+two.DeliveredAfter.Count() ||
		one.DeliveredAfter.Count() != first {
		t.Errorf("%d times, and then %d of the first", got, one.DeliveredAfter.Count())
	}
	if all.Broker.Written != one.Broker.Written+two.Broker.Written || one.Broker.Written >= all.Broker.Written {
		t.Errorf("broker %+v of %+v", all.Broker, one.Broker)
	}
}

// A slope of few readings says nothing, nor does a rate of few messages.
func TestMessagesThatSayTooLittle(t *testing.T) {
	t.Parallel()
	growth := func(samples int) *claim.Row {
		r := resulttest.Messages()
		for n := range r.Rounds {
			b := sent(r, n, 0).Messages.Broker
			b.Samples, b.MemoryGrowth = samples, 5000
		}
		load := analyse.Result(r).Loads[0]
		return load.Row(measures.MemoryGrowth)
	}
	if growth(result.GrowthSamples-1) != nil {
		t.Error("29 readings are a growth")
	}
	row := growth(result.GrowthSamples)
	if row == nil || row.Cells[0].Estimate.Value != 5000 || row.Cells[1].Estimate.Known ||
		row.Cells[1].Difference != nil {
		t.Errorf("30 readings of 5,000 bytes a second: %+v", row)
	}
	for drained, known := range map[uint64]bool{999: false, 1000: true} {
		r := resulttest.Messages()
		m := sent(r, 0, 0).Messages
		m.Drained, m.DrainedMessages = plan.Duration(2*time.Second), drained
		load := analyse.Result(r).Loads[0]
		if row := load.Row(plan.DrainRate); known != (row != nil && row.Cells[0].Estimate.Value == 500) {
			t.Errorf("%d messages drained: %+v", drained, row)
		}
	}
}

// Metrics of messages stand in rows only where messages are sent, and calls per
// second only where they are not: a send may carry many messages.
func TestMessagesHaveRows(t *testing.T) {
	t.Parallel()
	closed, open := analyse.Result(resulttest.Messages()).Loads[0],
		analyse.Result(resulttest.MessageScenarios()).Loads[2]
	for id, want := range map[string][2]bool{
		plan.MessageRate: {true, false}, plan.DeliveredP99: {true, true}, plan.SendOutage: {true, true},
		plan.DrainRate:  {false, false},
		plan.Throughput: {false, false}, plan.ServerCPU: {true, true}, plan.ServerAllocations: {false, false},
		plan.DiskPerMessage: {true, true},
	} {
		if got := [2]bool{closed.Row(id) != nil, open.Row(id) != nil}; got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
	if closed.Primary != plan.MessageRate || open.Primary != plan.SendOutage {
		t.Errorf("%s and %s decide", closed.Primary, open.Primary)
	}
	plain := analyse.Result(resulttest.Two()).Loads[0]
	for _, id := range plan.MessageMetricIDs() {
		if plain.Row(id) != nil {
			t.Errorf("calls have a %s", id)
		}
	}
	if m, _ := kinds.MetricOf(&closed, plan.ServerCPU); m.Title != "broker CPU per message" {
		t.Errorf("%q", m.Title)
	}
	if m, _ := kinds.MetricOf(&plain, plan.ServerCPU); m.Title != "server CPU per request" {
		t.Errorf("%q", m.Title)
	}
}

// What a message costs is shared among messages, not among the sends that carry them.
func TestMessagesShareCosts(t *testing.T) {
	t.Parallel()
	r := resulttest.Messages()
	before := analyse.Result(r).Loads[0].Row(plan.ServerCPU).Cells[0].Estimate.Value
	r.Plan.Loads[0].Batch = 10
	for n := range r.Rounds {
		m := sent(r, n, 0).Messages
		m.Sent, m.Acknowledged, m.Expected, m.Delivered = 10*m.Sent, 10*m.Acknowledged, 10*m.Expected, 10*m.Delivered
	}
	after := analyse.Result(r).Loads[0].Row(plan.ServerCPU).Cells[0].Estimate.Value
	if ratio := before / after; ratio < 9.99 || ratio > 10.01 {
		t.Errorf("%g ns for a message, %g with ten to a send", before, after)
	}
}

// Sends that fail while something is done to a broker are what such a scenario
// asks of; where nothing is done they leave it without a figure.
func TestFailingSends(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for load, invalid := range map[int]bool{0: true, 2: false} {
		r := resulttest.MessageScenarios()
		for i := range r.Rounds[0].Trials {
			one := &r.Rounds[0].Trials[i]
			if one.Load == load && one.Arm == 0 {
				one.Sent, one.Errors = one.Sent+1, map[string]uint64{"unavailable": one.Errors["unavailable"] + 1}
				one.Messages.Sent, one.Messages.Unsure = one.Messages.Sent+1, one.Messages.Unsure+1
			}
		}
		l := analyse.Result(r).Loads[load]
		if got := l.Arms[0].Invalid(); (len(got) > 0) != invalid {
			t.Errorf("%s: %q", l.Name, got)
		}
		if noted := strings.Contains(strings.Join(l.Arms[0].Notes, "; "), "sends failed"); noted == invalid {
			t.Errorf("%s: notes %q", l.Name, l.Arms[0].Notes)
		}
	}
}

// A broker that stays away until the end has an outage, and not no figure at all.
func TestBrokerThatStaysAway(t *testing.T) {
	t.Parallel()
	r := resulttest.MessageScenarios()
	for i := range r.Rounds[0].Trials {
		if one := &r.Rounds[0].Trials[i]; one.Arm == 2 {
			one.Planned, one.Unsent = one.Planned+40, 40
		}
	}
	a := analyse.Result(r)
	for load, invalid := range map[int]bool{0: true, 2: false} {
		arm := a.Loads[load].Arms[2]
		if got := arm.Invalid(); (len(got) > 0) != invalid {
			t.Errorf("%s: %q", a.Loads[load].Name, got)
		}
		if noted := strings.Contains(strings.Join(arm.Notes, "; "), "sends due were never made"); noted == invalid {
			t.Errorf("%s: notes %q", a.Loads[load].Name, arm.Notes)
		}
	}
	if outage := a.Loads[2].Row(plan.SendOutage).Cells[2].Estimate; !outage.Known {
		t.Errorf("%+v", outage)
	}
}

// An arm that acknowledges before a message is on disk keeps its rank, and the
// analysis says so. Other arms are not marked.
func TestEarlyArms(t *testing.T) {
	t.Parallel()
	r := resulttest.Messages()
	arms := analyse.Result(r).Loads[0].Arms
	for a, want := range []string{"", "", "", "acknowledges before a message is on disk"} {
		if arms[a].Messages.Early != want || kinds.Early(r, a) != want || arms[a].Place == 0 {
			t.Errorf("%s in place %d: %q, %q", arms[a].Name, arms[a].Place, arms[a].Messages.Early, kinds.Early(r, a))
		}
	}
	r.Arms[0].Guarantee = nil
	r.Arms[1].Guarantee.Sync = result.SyncUnknown
	r.Arms[2].Guarantee.Confirms = false
	for a, want := range []string{"not known", "not known", "before a message"} {
		if !strings.Contains(kinds.Early(r, a), want) {
			t.Errorf("arm %d: %q", a, kinds.Early(r, a))
		}
	}
	if plain := resulttest.Pipeline(); kinds.Early(plain, 0) != "" || kinds.Early(r, 9) == "" {
		t.Error("a pipeline is no broker, and of no arm nothing is known")
	}
}
