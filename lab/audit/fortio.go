package audit

import (
	"regexp"
	"strings"
	"time"
)

var (
	fortioEnded    = regexp.MustCompile(`(?m)^Ended after (\S+) : (\d+) calls\. qps=(\S+)`)
	fortioFunction = regexp.MustCompile(`(?m)^Aggregated Function Time : count (\d+) avg (\S+) \+/- \S+ min \S+ max (\S+)`)
	fortioQuantile = regexp.MustCompile(`(?m)^# target ([0-9.]+)% (\S+)\s*$`)
	// The codes of HTTP, and the states of gRPC's health check and ping.
	fortioCode    = regexp.MustCompile(`(?m)^(?:Code|Health|Ping|gRPC)\s+(\S+) : (\d+)`)
	fortioErrors  = regexp.MustCompile(`(?m)^Error cases : count (\d+) `)
	fortioBehind  = regexp.MustCompile(`(?m)^WARNING ([0-9.]+)% of sleep were falling behind`)
	fortioTooSlow = regexp.MustCompile(`(?m)^WARNING .*too (?:slow|low).*$`)
)

func fortioParser() Parser {
	return Parser{
		Name: "fortio",
		ours: func(text string) bool {
			return isFortioJSON(text) || fortioFunction.MatchString(text)
		},
		parse: func(text string) (Report, error) {
			if isFortioJSON(text) {
				return parseFortioJSON(text)
			}
			return parseFortio(text), nil
		},
		asked: func(words []string) Asked {
			a := Asked{
				Rate:     numberOf(optionOf(words, dashed("qps")...), 8),
				Requests: countOf(optionOf(words, dashed("n")...), 0),
				For:      lengthOf(optionOf(words, dashed("t")...)),
			}
			if a.For == 0 && a.Requests == 0 {
				a.For = 5 * time.Second
			}
			return a
		},
		remarks: func(all string) []string {
			var words []string
			if m := fortioBehind.FindStringSubmatch(all); m != nil {
				words = append(words, m[1]+"% of sleep were falling behind")
			}
			if m := fortioTooSlow.FindString(all); m != "" {
				words = append(words, strings.TrimPrefix(m, "WARNING "))
			}
			return words
		},
	}
}

// isFortioJSON reports whether a text is fortio's result. Its log does not count, although each line is a JSON object.
func isFortioJSON(text string) bool { return isJSON(text, "DurationHistogram", "ActualQPS") }

// fortioRight reports whether a status means a correct reply.
func fortioRight(status string) bool {
	return strings.HasPrefix(status, "2") || status == "SERVING" || status == "OK"
}

func parseFortio(text string) Report {
	var r Report
	if m := fortioEnded.FindStringSubmatch(text); m != nil {
		r.Elapsed, r.Count, r.Rate = spanText(m[1]), countText(m[2]), rateText(m[3])
	}
	// The histograms of sleeping, connecting and sizes have the same format. Only the part between this title and the
	// next is about calls.
	_, calls, _ := strings.Cut(text, "Aggregated Function Time :")
	calls, rest, _ := strings.Cut(calls, "Error cases :")
	if m := fortioFunction.FindStringSubmatch(text); m != nil {
		r.Mean, r.Max = spanText(m[2]+"s"), spanText(m[3]+"s")
		if r.Count == nil {
			r.Count = countText(m[1])
		}
	}
	for _, m := range fortioQuantile.FindAllStringSubmatch(calls, -1) {
		if d, ok := parseSpan(m[2] + "s"); ok {
			r.quantile(numberOf(m[1], -1), d)
		}
	}
	r.Errors = ptr(uint64(0))
	for _, m := range fortioCode.FindAllStringSubmatch(rest, -1) {
		if !fortioRight(m[1]) {
			r.Errors = sum(r.Errors, countText(m[2]))
		}
	}
	if m := fortioErrors.FindStringSubmatch(text); m != nil && *r.Errors == 0 {
		r.Errors = countText(m[1])
	}
	return r
}

// fortioJSON is the output of fortio -json. Times are in seconds, except ActualDuration, which is in nanoseconds.
type fortioJSON struct {
	Rate      *float64 `json:"ActualQPS"`
	Elapsed   *float64 `json:"ActualDuration"`
	Durations struct {
		Count       *uint64  `json:"Count"`
		Mean        *float64 `json:"Avg"`
		Max         *float64 `json:"Max"`
		Percentiles []struct {
			Percentile float64 `json:"Percentile"`
			Value      float64 `json:"Value"`
		} `json:"Percentiles"`
	} `json:"DurationHistogram"`
	Codes map[string]uint64 `json:"RetCodes"`
}

func parseFortioJSON(text string) (Report, error) {
	f, err := jsonOf[fortioJSON](text)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Count: f.Durations.Count, Errors: ptr(uint64(0)), Elapsed: span(f.Elapsed, time.Nanosecond),
		Mean: span(f.Durations.Mean, time.Second), Max: span(f.Durations.Max, time.Second),
	}
	if f.Rate != nil {
		r.Rate = rate(*f.Rate)
	}
	for _, at := range f.Durations.Percentiles {
		if d, ok := spanOf(at.Value, time.Second); ok {
			r.quantile(at.Percentile, d)
		}
	}
	for status, n := range f.Codes {
		if !fortioRight(status) {
			r.Errors = sum(r.Errors, &n)
		}
	}
	return r, nil
}
