package audit

import (
	"regexp"
	"strings"
	"time"
)

// ohaDeadline is oha's name for the requests that it cut off when its time was up. They count neither as answered nor
// as failed.
const ohaDeadline = "aborted due to deadline"

var ohaAborted = regexp.MustCompile(`(?m)^\s+\[(\d+)\]\s+` + ohaDeadline + `\s*$`)

func ohaParser() Parser {
	return Parser{
		Name: "oha",
		ours: func(text string) bool {
			return isJSON(text, "latencyPercentiles", "summary") || summary(text, "Success rate:")
		},
		parse: func(text string) (Report, error) {
			if isJSON(text) {
				return parseOhaJSON(text)
			}
			return parseSummary(ohaAborted.ReplaceAllString(text, ""), ohaRight), nil
		},
		asked: func(words []string) Asked {
			a := Asked{For: lengthOf(optionOf(words, "-z")), Rate: numberOf(optionOf(words, "-q"), 0)}
			if a.For == 0 {
				a.Requests = countOf(optionOf(words, "-n"), 200)
			}
			return a
		},
	}
}

func ohaRight(status string) bool { return strings.HasPrefix(status, "2") }

// ohaJSON is the output of oha --output-format json. Times are in seconds.
type ohaJSON struct {
	Summary struct {
		Total   *float64 `json:"total"`
		Slowest *float64 `json:"slowest"`
		Average *float64 `json:"average"`
		Rate    *float64 `json:"requestsPerSec"`
	} `json:"summary"`
	Percentiles map[string]*float64 `json:"latencyPercentiles"`
	Statuses    map[string]uint64   `json:"statusCodeDistribution"`
	Errors      map[string]uint64   `json:"errorDistribution"`
}

func parseOhaJSON(text string) (Report, error) {
	o, err := jsonOf[ohaJSON](text)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Elapsed: span(o.Summary.Total, time.Second), Mean: span(o.Summary.Average, time.Second),
		Max:   span(o.Summary.Slowest, time.Second),
		Count: ptr(uint64(0)), Errors: ptr(uint64(0)),
	}
	if o.Summary.Rate != nil {
		r.Rate = rate(*o.Summary.Rate)
	}
	for name, value := range o.Percentiles {
		if d := span(value, time.Second); d != nil {
			r.quantile(numberOf(strings.TrimPrefix(name, "p"), -1), *d)
		}
	}
	for status, n := range o.Statuses {
		r.Count = sum(r.Count, &n)
		if !ohaRight(status) {
			r.Errors = sum(r.Errors, &n)
		}
	}
	for what, n := range o.Errors {
		if what != ohaDeadline {
			r.Count, r.Errors = sum(r.Count, &n), sum(r.Errors, &n)
		}
	}
	return r, nil
}
