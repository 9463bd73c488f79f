package audit

import (
	"strings"
	"time"
)

func ghzParser() Parser {
	return Parser{
		Name: "ghz",
		ours: func(text string) bool {
			return isJSON(text, "latencyDistribution", "statusCodeDistribution", "rps") ||
				summary(text, "Count:") && !strings.Contains(text, "Success rate:")
		},
		parse: func(text string) (Report, error) {
			if isJSON(text) {
				return parseGhzJSON(text)
			}
			r := parseSummary(text, func(status string) bool { return status == "OK" })
			// The error distribution counts the same calls as the statuses, so it is left out.
			head, _, _ := strings.Cut(text, "\nError distribution:")
			r.Errors = parseSummary(head, func(status string) bool { return status == "OK" }).Errors
			if m := summaryCount.FindStringSubmatch(text); m != nil {
				r.Count = countText(m[1])
			}
			return r, nil
		},
		asked: func(words []string) Asked {
			a := Asked{
				For:  lengthOf(optionOf(words, "-z", "--duration")),
				Rate: numberOf(optionOf(words, "-r", "--rps"), 0),
			}
			if a.For == 0 {
				a.Requests = countOf(optionOf(words, "-n", "--total"), 200)
			}
			return a
		},
	}
}

// ghzJSON is the output of ghz -O json. Times are in nanoseconds.
type ghzJSON struct {
	Count        *uint64           `json:"count"`
	Total        *float64          `json:"total"`
	Average      *float64          `json:"average"`
	Slowest      *float64          `json:"slowest"`
	Rate         *float64          `json:"rps"`
	Statuses     map[string]uint64 `json:"statusCodeDistribution"`
	Distribution []struct {
		Percentage float64 `json:"percentage"`
		Latency    float64 `json:"latency"`
	} `json:"latencyDistribution"`
}

func parseGhzJSON(text string) (Report, error) {
	g, err := jsonOf[ghzJSON](text)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Count: g.Count, Errors: ptr(uint64(0)), Elapsed: span(g.Total, time.Nanosecond),
		Mean: span(g.Average, time.Nanosecond), Max: span(g.Slowest, time.Nanosecond),
	}
	if g.Rate != nil {
		r.Rate = rate(*g.Rate)
	}
	for status, n := range g.Statuses {
		if status != "OK" {
			r.Errors = sum(r.Errors, &n)
		}
	}
	for _, at := range g.Distribution {
		if d, ok := spanOf(at.Latency, time.Nanosecond); ok {
			r.quantile(at.Percentage, d)
		}
	}
	return r, nil
}
