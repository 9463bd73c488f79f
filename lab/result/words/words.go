package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/plan"
)

// And joins words: "a, b and c".
func And(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Choose returns the text for an outcome.
func Choose(ok bool, passed, failed string) string {
	if ok {
		return passed
	}
	return failed
}

// InRounds says in how many of the rounds something failed.
func InRounds(failed, rounds int) string {
	if failed == rounds {
		return "in every round"
	}
	return fmt.Sprintf("in %d of %d rounds", failed, rounds)
}

// Kinds lists errors by kind, most frequent first, at most five.
func Kinds(errors map[string]uint64) string {
	names := make([]string, 0, len(errors))
	for kind, n := range errors {
		if n > 0 {
			names = append(names, kind)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		switch {
		case errors[a] > errors[b]:
			return -1
		case errors[a] < errors[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	const shown = 5
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more kinds", len(names)-shown)
		names = names[:shown]
	}
	for i, kind := range names {
		names[i] = Thousands(errors[kind]) + " " + kind
	}
	return strings.Join(names, ", ") + more
}

// Thousands writes a count as "1,234,567".
func Thousands(n uint64) string { return plan.Thousands(n) }

// Span writes a range of numbers, or a single one if both ends read the same.
func Span(low, high float64) string {
	a, b := strconv.FormatFloat(low, 'g', 3, 64), strconv.FormatFloat(high, 'g', 3, 64)
	if a == b {
		return a
	}
	return a + " to " + b
}

// Brief rounds a duration to three digits.
func Brief(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// Percent writes a share as a percentage.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }
