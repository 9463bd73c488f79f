package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result/threshold"
)

// Objective is a service level: bounds that a service must keep, as in
// "p99<10ms,errors<0.1%". The zero value is none. Make one with [ParseObjective].
type Objective struct {
	Times []TimeBound
	// Errors is the largest share of calls that may fail, 0 to 0.5: get no
	// answer, a wrong one, or one of a code that is not OK.
	Errors float64
}

// TimeBound bounds a quantile of the response times, counted from when a call
// was due.
type TimeBound struct {
	Name     string  // "p99", "mean"
	Quantile float64 // 0 of the mean
	Limit    time.Duration
}

// The bounds of an objective.
const (
	objectiveErrors = 0.001 // of one that says nothing of them
	objectiveMin    = 10 * time.Microsecond
	objectiveMax    = time.Minute
	errorsMost      = 0.5
)

// timeNamed is what a word for times bounds, without its limit.
func timeNamed(word string) (TimeBound, bool) {
	if word == "mean" {
		return TimeBound{Name: word}, true
	}
	q, name, ok := plan.ParsePercentile(word)
	return TimeBound{Name: name, Quantile: q}, ok
}

// boundForm is a bound: a word, a sign, a limit. "<=" is taken as "<": times
// are not known to the nanosecond.
var boundForm = regexp.MustCompile(`^([a-z0-9.]{1,10}) ?(<=|≤|<) ?([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(us|µs|ms|[a-z%])$`)

const objectiveExample = "'p99<10ms,errors<0.1%'"

// ParseObjective reads a service level: bounds with commas between them, each
// at most once, at least one of a time: a percentile (p50, p95, p99.9) or mean below a
// duration of 10 µs to 1 min, and errors below a percentage of 0 to 50, 0.1
// where it is not given. Errors are InvalidArgument and say what is allowed.
func ParseObjective(text string) (Objective, error) {
	o := Objective{Errors: objectiveErrors}
	seen := map[string]bool{}
	for clause := range strings.SplitSeq(text, ",") {
		clause = strings.Join(strings.Fields(clause), " ")
		m := boundForm.FindStringSubmatch(clause)
		if m == nil {
			return Objective{}, badObjective(text, "%q is no bound", clip(clause))
		}
		name, number, unit := m[1], m[3], m[4]
		bound, timed := timeNamed(name)
		if timed {
			name = bound.Name
		}
		if seen[name] {
			return Objective{}, badObjective(text, "%s is bounded twice", name)
		}
		seen[name] = true
		if name == threshold.ErrorShare {
			share, err := percentage(number, unit)
			if err != nil {
				return Objective{}, badObjective(text, "%v", err)
			}
			o.Errors = share
			continue
		}
		if !timed {
			return Objective{},
				badObjective(text, "%q is no percentile such as p50, p95 or p99.9, nor mean or errors", name)
		}
		limit, err := time.ParseDuration(number + unit)
		if slices.Contains([]string{"m", "h"}, unit) {
			err = errTimeUnit
		}
		if err != nil || limit < objectiveMin || limit > objectiveMax {
			return Objective{},
				badObjective(text, "%s%s is no time of 10us to 1m0s; units are us, ms and s", number, unit)
		}
		bound.Limit = limit
		o.Times = append(o.Times, bound)
	}
	if len(o.Times) == 0 {
		return Objective{}, badObjective(text, "no time is bounded")
	}
	order := func(b TimeBound) float64 {
		if b.Quantile == 0 {
			return 1 // the mean comes last
		}
		return b.Quantile
	}
	slices.SortFunc(o.Times, func(a, b TimeBound) int { return cmp.Compare(order(a), order(b)) })
	return o, nil
}

// errTimeUnit is the error for a limit in minutes or more, which is too long for a call.
var errTimeUnit = errors.New("a unit too long")

// percentage reads a share of calls.
func percentage(number, unit string) (float64, error) {
	share, err := strconv.ParseFloat(number+"e-2", 64)
	if unit != "%" || err != nil || share > errorsMost {
		return 0, fmt.Errorf("errors<%s%s is no percentage of 0 to 50", number, unit)
	}
	return share, nil
}

func badObjective(text, format string, args ...any) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "objective %q: %s; write for example %s", clip(text),
		fmt.Sprintf(format, args...), objectiveExample)
}

// clip shortens a typed text for an error.
func clip(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return text
}

// String returns the objective as [ParseObjective] reads it.
func (o Objective) String() string {
	var parts []string
	for _, b := range o.Times {
		parts = append(parts, b.Name+"<"+LimitText(b.Limit))
	}
	return strings.Join(append(parts, threshold.ErrorShare+"<"+strconv.FormatFloat(100*o.Errors, 'f', -1, 64)+"%"), ",")
}

// LimitText writes a limit as people type it: "10ms", "1.5s", "500us".
func LimitText(d time.Duration) string {
	in := func(unit time.Duration, name string) string {
		return strconv.FormatFloat(float64(d)/float64(unit), 'f', -1, 64) + name
	}
	switch {
	case d >= time.Second:
		return in(time.Second, "s")
	case d >= time.Millisecond:
		return in(time.Millisecond, "ms")
	}
	return in(time.Microsecond, "us")
}

// Tail is the greatest quantile that it bounds; 0.5 where it bounds only a mean.
func (o Objective) Tail() float64 {
	q := 0.5
	for _, b := range o.Times {
		q = max(q, b.Quantile)
	}
	return q
}

// Tightest and Loosest are the shortest and longest times that it allows.
func (o Objective) Tightest() time.Duration {
	return slices.MinFunc(o.Times, byLimit).Limit
}

// Loosest is the longest time that it allows.
func (o Objective) Loosest() time.Duration {
	return slices.MaxFunc(o.Times, byLimit).Limit
}

func byLimit(a, b TimeBound) int { return int(a.Limit - b.Limit) }
