package csv

import (
	"strconv"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/results/report"
)

// line is a row without what most rows lack. A value with a reason in invalid is refused.
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
		metric, value, unit, "", "", steady, invalid, "", r.Early(arm), refused,
	}
}

// rates are the rows of an open loop's rates.
func rates(r *result.Result, l *result.LoadAnalysis, round int, t *result.Trial) [][]string {
	if !l.Open || t.Window <= 0 {
		return nil
	}
	seconds := time.Duration(t.Window).Seconds()
	var all [][]string
	for _, of := range []struct {
		metric  string
		calls   uint64
		invalid string
	}{{"planned", t.Planned, ""}, {"achieved", t.Completed, reason(l.Arms[t.Arm].Refused["achieved"])}} {
		all = append(all, line(r, round+1, t.Arm, l.Name, of.metric, report.Exact(float64(of.calls)/seconds), "/s", strconv.FormatBool(t.Steady), of.invalid))
	}
	return all
}

// reason is why a value is refused; "" if it is not.
func reason(refused *result.Refused) string {
	if refused == nil {
		return ""
	}
	return refused.Why
}

// counts are the rows of what a trial's database did for each call.
func counts(r *result.Result, l *result.LoadAnalysis, round int, t *result.Trial) [][]string {
	var all [][]string
	for _, c := range t.Counts() {
		value, invalid := report.Exact(c.Value), ""
		if why := l.Arms[t.Arm].Invalid(); len(why) > 0 {
			invalid = why[0]
		}
		all = append(all, line(r, round+1, t.Arm, l.Name, c.ID, value, report.BaseUnit(c.Dimension), strconv.FormatBool(t.Steady), invalid))
	}
	return all
}

// probes are the rows of a search for capacities.
func probes(r *result.Result) [][]string {
	var all [][]string
	for n, round := range r.Capacity.Rounds {
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
	for arm, a := range result.AnalyseCapacity(r).Arms {
		for _, round := range a.Rounds {
			value, invalid := "", round.Why
			if v, ok := round.Found.Value(); ok {
				value, invalid = report.Exact(v), ""
			} else if round.Refused != nil && round.Refused.Found != nil {
				value, invalid = report.Exact(round.Refused.Found.Value), a.Why
			}
			all = append(all, line(r, round.Round, arm, r.Capacity.Objective, "capacity", value, "/s", "", invalid))
		}
	}
	return all
}
