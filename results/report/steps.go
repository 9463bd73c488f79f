package report

import (
	"strconv"
	"strings"

	"wirelab/lab/result"
)

// StepTitle is the title of the table of [Steps].
const StepTitle = "What each step takes"

// StepCaption says what the columns of [Steps] are of.
const StepCaption = "Times of each call of a chain, of the chains that came back right, from when its request was sent " +
	"until its whole reply had come. The share is of the time of all chains; what is missing to 100 % passes in the " +
	"load generator, between one reply and the next request."

// StepHead heads the columns of [Steps].
func StepHead(l *result.LoadAnalysis) []string {
	head := []string{"arm", "step"}
	for _, q := range []string{"p50", "p90", "p99"} {
		head = append(head, strings.TrimSpace(q+" "+stepUnit(l).Name))
	}
	return append(head, "share")
}

// Steps are the calls of which each call of a load is made, one by one and over all rounds; none where calls are single
// ones. An arm is named in its first line.
func Steps(l *result.LoadAnalysis) [][]string {
	var rows [][]string
	unit := stepUnit(l)
	for a := range l.Arms {
		for i, s := range l.Arms[a].Steps {
			name := ""
			if i == 0 {
				name = l.Arms[a].Name
			}
			rows = append(rows, []string{
				name, strconv.Itoa(i+1) + " " + s.Name,
				Value(s.P50, unit), Value(s.P90, unit), Value(s.P99, unit), stepShare(s.Share),
			})
		}
	}
	return rows
}

// stepShare writes a part of a whole.
func stepShare(e result.Estimate) string {
	switch one := e.ShownRefused(); {
	case e.Known:
		return Percent(e.Value)
	case one != nil:
		return Refused(Percent(one.Value))
	}
	return Absent
}

// stepUnit is the one unit of all times; none where there is no time that would have it.
func stepUnit(l *result.LoadAnalysis) Unit {
	var values []float64
	for a := range l.Arms {
		for _, s := range l.Arms[a].Steps {
			for _, e := range []result.Estimate{s.P50, s.P90, s.P99} {
				if e.Known {
					values = append(values, e.Value)
				} else if one := e.ShownRefused(); one != nil {
					values = append(values, one.Value)
				}
			}
		}
	}
	if len(values) == 0 {
		return Unit{Size: 1}
	}
	return UnitFor(result.Time, values...)
}
