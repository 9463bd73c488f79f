package audit

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// The row of response times: those of HTTP or of gRPC calls.
	k6Times     = regexp.MustCompile(`(?m)^\s*(?:[✓✗] )?(http_req_duration|grpc_req_duration)\.*: (.*)$`)
	k6Pair      = regexp.MustCompile(`([a-z]+(?:\([0-9.]+\))?)=(\S+)`)
	k6Requests  = regexp.MustCompile(`(?m)^\s*http_reqs\.*: (\d+)\s+(\S+)/s`)
	k6Turns     = regexp.MustCompile(`(?m)^\s*iterations\.*: (\d+)\s+(\S+)/s`)
	k6Dropped   = regexp.MustCompile(`(?m)^\s*dropped_iterations\.*: (\d+)`)
	k6Failed    = regexp.MustCompile(`(?m)^\s*http_req_failed\.*: \S+%\s+(?:✓ )?(\d+)\s+(?:out of|✗)`)
	k6Last      = regexp.MustCompile(`(?m)^running \(([0-9a-z.]+)\),`)
	k6Doubt     = regexp.MustCompile(`level=warning msg="([^"]*)"`)
	k6Durations = []string{"http_req_duration", "grpc_req_duration"}
)

func k6Parser() Parser {
	return Parser{
		Name: "k6",
		ours: func(text string) bool {
			return isJSON(text, "metrics", "iteration_duration") ||
				k6Times.MatchString(text) && k6Turns.MatchString(text)
		},
		parse: func(text string) (Report, error) {
			if isJSON(text) {
				return parseK6JSON(text)
			}
			return parseK6(text), nil
		},
		// The rate is in the script, where this cannot see it. The output has the number of dropped requests, from
		// which the planned number follows.
		asked: func(words []string) Asked {
			var a Asked
			for _, w := range words {
				if v, ok := strings.CutPrefix(w, "RATE="); ok {
					a.Rate = numberOf(v, 0)
				}
				if v, ok := strings.CutPrefix(w, "DURATION="); ok {
					a.For = lengthOf(v)
				}
			}
			return a
		},
		remarks: func(all string) []string {
			var words []string
			for _, m := range k6Doubt.FindAllStringSubmatch(all, 3) {
				words = append(words, m[1])
			}
			return words
		},
	}
}

// k6Note stores one statistic by k6's name for it.
func k6Note(r *Report, name string, d time.Duration) {
	switch name {
	case "avg":
		r.Mean = &d
	case "max":
		r.Max = &d
	case "med":
		r.quantile(50, d)
	default:
		if p, ok := strings.CutPrefix(name, "p("); ok {
			r.quantile(numberOf(strings.TrimSuffix(p, ")"), -1), d)
		}
	}
}

func parseK6(text string) Report {
	// A full summary repeats everything for each scenario. The first part is about all of them.
	text, _, _ = strings.Cut(text, "█ SCENARIO:")
	var r Report
	if m := k6Times.FindStringSubmatch(text); m != nil {
		for _, pair := range k6Pair.FindAllStringSubmatch(m[2], -1) {
			if d, ok := parseSpan(pair[2]); ok {
				k6Note(&r, pair[1], d)
			}
		}
	}
	counts := k6Requests.FindStringSubmatch(text)
	if counts == nil {
		counts = k6Turns.FindStringSubmatch(text) // gRPC has no other count
	}
	if counts != nil {
		r.Count, r.Rate = countText(counts[1]), rateText(counts[2])
	}
	if m := k6Failed.FindStringSubmatch(text); m != nil {
		r.Errors = countText(m[1])
	}
	if m := k6Dropped.FindStringSubmatch(text); m != nil {
		r.Dropped = countText(m[1])
	}
	if all := k6Last.FindAllStringSubmatch(text, -1); len(all) > 0 {
		r.Elapsed = spanText(all[len(all)-1][1])
	}
	return r
}

// k6JSON is the output of --summary-export. Times are in milliseconds.
type k6JSON struct {
	Metrics map[string]map[string]any `json:"metrics"`
}

// number returns a member of a metric, nil if the metric has no such number.
func (k k6JSON) number(metric, member string) *float64 {
	if f, ok := k.Metrics[metric][member].(float64); ok {
		return rate(f)
	}
	return nil
}

// count returns a member of a metric as a number of requests.
func (k k6JSON) count(metric, member string) *uint64 {
	f := k.number(metric, member)
	if f == nil || *f > 1e15 {
		return nil
	}
	return countText(strconv.FormatFloat(*f, 'f', 0, 64))
}

func parseK6JSON(text string) (Report, error) {
	k, err := jsonOf[k6JSON](text)
	if err != nil {
		return Report{}, err
	}
	var r Report
	for _, metric := range k6Durations {
		for name := range k.Metrics[metric] {
			if d := span(k.number(metric, name), time.Millisecond); d != nil {
				k6Note(&r, name, *d)
			}
		}
		if len(k.Metrics[metric]) > 0 {
			break
		}
	}
	r.Count, r.Rate = k.count("http_reqs", "count"), k.number("http_reqs", "rate")
	if r.Count == nil {
		r.Count, r.Rate = k.count("iterations", "count"), k.number("iterations", "rate")
	}
	// The "passes" of a rate metric are the calls for which it is true. Here these are the calls that failed.
	r.Errors = k.count("http_req_failed", "passes")
	r.Dropped = k.count("dropped_iterations", "count")
	return r, nil
}
