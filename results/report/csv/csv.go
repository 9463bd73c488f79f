// Package csv writes a result's figures as they were measured, round by round, for further computation: one row for
// each round, load, arm and metric. It knows only results.
//
// # Columns
//
//   - result: the result's id.
//   - round: from 1, in the order they ran.
//   - load: as in "50 in flight" or "2000/s poisson".
//   - arm: its name; protocol, server, client: its protocol and libraries.
//   - metric: the id, as plans name it: "server-cpu", "response-p99".
//   - value: in the metric's own unit, whatever its size; with a point, never a comma.
//   - unit: "ns", "B", "/s", or empty for a count.
//   - marks: what limits the figure, over all rounds: "floor-limited", "busy
//     machine", or both with a semicolon between; empty for most.
//   - floor: the metric against a server that does nothing, over all rounds, in
//     the metric's unit; empty if there is none.
//   - steady: whether the trial's warm-up reached a steady state; empty where another load generator warmed up.
//   - invalid: why the arm's figures of this metric must not be used, over all
//     rounds; empty if they may. A row with a reason has no value.
//   - resolves: the smallest difference in the metric, as a share, that the
//     machine could tell in a minute, by its certificate; empty without one.
//   - early: what there is to know of an arm that acknowledges messages before a
//     quorum has them on disk; empty of every other. Its figures are of less than
//     those of arms without a word here.
//   - refused: the value that was measured, in a row that has a reason in invalid and
//     so no value. It may be looked at, and neither compared nor quoted.
//
// Of an open loop there are also the metrics "planned" and "achieved", the
// calls per second that fell due and that were answered rightly: a curve is
// achieved and response times over planned, and overload where achieved is
// less. Planned is never refused, achieved where the generator or the machine
// spoiled it. Of a search for capacities there is a row for
// each probe, metric "probe", its load the rate and its value 1 if it passed, 0
// if not, none if it was spoiled, with why in "invalid"; and for each search
// one, metric "capacity", in calls per second, without a value where it is only
// a bound.
// Where servers keep their data in a database there are also "database-read",
// "database-written" and "database-wal" in bytes, "database-blocks-read",
// "database-blocks-hit", "database-commits" and "database-rollbacks": what it
// did, for each call, for them and for itself.
//
// Of a load that holds streams there are, for each stream, numbered from 1, the
// metrics "stream-1-rate" (events per second of that stream), "stream-1-missing",
// "stream-1-duplicated", "stream-1-reordered", "stream-1-delivery-p99" and
// "stream-1-jitter-p99"; and where readers are slow, of all streams together on
// average at a slice's end, "due", "sent", "decoded", "buffered", "pushed-back"
// and "dropped". The counts missing, duplicated and reordered are never refused, since a
// refusal is about them. Rates and times are, and all of slow readers but what was due.
//
// Of a load that sends messages there is the account of each trial: "sent",
// "acknowledged", "unsure", "expected", "delivered", "missing", "kept",
// "duplicated", "redelivered", "reordered", "displaced", "corrupted", "misrouted",
// "stray", "peak-backlog". They are never refused.
//
// Of calls that are chains there are, for each step, numbered from 1, the metrics "step-1-NAME-p50", "step-1-NAME-p90"
// and "step-1-NAME-p99". They are refused where the service times of the arm are.
//
// A text that a spreadsheet would take for a formula, such as an arm named "=1+1", has an apostrophe before it.
//
// A figure that a trial does not have has no row: throughput of an open loop, CPU of a
// server that is not ours, a quantile with fewer than 10 calls beyond it.
package csv

import (
	"io"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
)

// Columns returns the heads of the columns.
func Columns() []string {
	return []string{
		"result", "round", "load", "arm", "protocol", "server", "client", "metric", "value", "unit",
		"marks", "floor", "steady", "invalid", "resolves", "early", "refused",
	}
}

// Write writes the result, heads first. The error is w's.
func Write(w io.Writer, r *result.Result) error {
	out := NewSheet(w)
	if err := out.Write(Columns()); err != nil {
		return err
	}
	a := analyse.Result(r)
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			if t.Load < 0 || t.Load >= len(a.Loads) || t.Arm < 0 || t.Arm >= len(a.Loads[t.Load].Arms) {
				continue
			}
			l := &a.Loads[t.Load]
			rows := trial{Trial: t, r: r, l: l, arm: &l.Arms[t.Arm], round: n + 1}
			rows.figures()
			rows.rates()
			rows.counts()
			if add := accounts()[l.Kind]; add != nil {
				add(&rows)
			}
			for _, row := range rows.rows {
				if err := out.Write(row); err != nil {
					return err
				}
			}
		}
	}
	for _, row := range probes(r, &a) {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// accounts add the rows that only trials of a kind of load have.
func accounts() map[plan.Kind]func(*trial) {
	return map[plan.Kind]func(*trial){
		plan.Calls: (*trial).steps, plan.Messages: (*trial).messages, plan.Held: (*trial).streams,
	}
}

// figures adds the rows of a trial's metrics.
func (t *trial) figures() {
	for _, m := range kinds.Metrics() {
		v, ok := m.Value(t.Trial)
		if !kinds.Under(m, t.r.Plan.Loads[t.l.Load]) || !ok || !m.Earned(t.Trial) {
			continue
		}
		t.add(m.ID, report.Exact(v), report.BaseUnit(m.Dimension), t.arm.Why(m))
		row := t.rows[len(t.rows)-1]
		row[10] = strings.Join(report.MarkWords(t.arm, m), "; ")
		if v, ok := report.Floor(t.arm, m); ok {
			row[11] = report.Exact(v)
		}
		row[14] = resolves(t.r.Certificate, m)
	}
}

// resolves returns the smallest detectable difference of a metric, according to the calibration.
func resolves(c *result.Certificate, m metric.Metric) string {
	if c == nil {
		return ""
	}
	w, ok := c.In(m.ID, time.Minute)
	if !ok {
		return ""
	}
	return strconv.FormatFloat(w.Detectable, 'g', 3, 64)
}

// steady says whether a trial's warm-up reached a steady state; "" if another load generator warmed up, which does
// not report it.
func steady(t *result.Trial) string {
	if t.Told != nil {
		return ""
	}
	return strconv.FormatBool(t.Steady)
}
