package csv

import (
	"strconv"
	"time"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/results/report"
)

// line returns a row without the columns that most rows leave empty. A value with a reason in invalid is refused.
func line(r *result.Result, round, arm int, load, metric, value, unit, steady, invalid string) []string {
	var is result.Arm
	if arm >= 0 && arm < len(r.Arms) {
		is = r.Arms[arm]
	}
	refused := ""
	if invalid != "" {
		value, refused = "", value
	}
	return []string{
		r.ID, strconv.Itoa(round), load, r.ArmName(arm), is.Protocol, r.ServedBy(arm), is.Client,
		metric, value, unit, "", "", steady, invalid, "", kinds.Early(r, arm), refused,
	}
}

// trial is a trial with the rows made so far.
type trial struct {
	*result.Trial
	r     *result.Result
	l     *claim.LoadAnalysis
	arm   *claim.ArmState
	round int
	rows  [][]string
}

// add adds a row without the columns that most rows leave empty.
func (t *trial) add(metric, value, unit, invalid string) {
	t.rows = append(t.rows, line(t.r, t.round, t.Arm, t.l.Name, metric, value, unit, steady(t.Trial), invalid))
}

// rates adds the rows of an open loop's rates.
func (t *trial) rates() {
	if seconds := time.Duration(t.Window).Seconds(); t.l.Open && seconds > 0 {
		t.add("planned", report.Exact(float64(t.Planned)/seconds), "/s", "")
		t.add("achieved", report.Exact(float64(t.Completed)/seconds), "/s", reason(t.arm.Refused["achieved"]))
	}
}

// reason returns why a value is refused; "" if it is not.
func reason(refused *claim.Refused) string {
	if refused == nil {
		return ""
	}
	return refused.Why
}

// counts adds the rows of what a trial's database did for each call.
func (t *trial) counts() {
	whole := append(t.arm.Invalid(), "")[0]
	for _, c := range claim.Counts(t.Trial) {
		t.add(c.ID, report.Exact(c.Value), report.BaseUnit(c.Dimension), whole)
	}
}

// probes returns the rows of a search for capacities.
func probes(r *result.Result, a *claim.Analysis) [][]string {
	var all [][]string
	search := capacity.SearchOf(r)
	for n, round := range search.Rounds {
		for i := range round.Searches {
			s := &round.Searches[i]
			for _, p := range s.Probes {
				value, invalid := "", ""
				switch p.Outcome {
				case result.ProbePassed:
					value = "1"
				case result.ProbeFailed:
					value = "0"
				default:
					invalid = p.Why
				}
				load := plan.Load{Rate: p.Rate, Arrivals: plan.Poisson}.String()
				all = append(all, line(r, n+1, s.Arm, load, "probe", value, "", strconv.FormatBool(s.Steady), invalid))
			}
		}
	}
	for arm, a := range capacity.Of(a).Arms {
		for _, round := range a.Rounds {
			value, invalid := "", round.Why
			if v, ok := round.Found.Value(); ok {
				value, invalid = report.Exact(v), ""
			} else if round.Refused != nil && round.Refused.Found != nil {
				value, invalid = report.Exact(round.Refused.Found.Value), a.Why
			}
			all = append(all, line(r, round.Round, arm, search.Objective, "capacity", value, "/s", "", invalid))
		}
	}
	return all
}
