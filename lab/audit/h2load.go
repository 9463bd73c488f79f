package audit

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	h2loadFinished = regexp.MustCompile(`(?m)^finished in (\S+), (\S+) req/s`)
	h2loadRequests = regexp.MustCompile(`(?m)^requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`)
	h2loadHead     = regexp.MustCompile(`(?m)^\s+min\s+max\s+(.*)$`)
	// Old versions call the row "time for request:", new ones "request :".
	h2loadTimes = regexp.MustCompile(`(?m)^(?:time for )?request\s*:\s+(.*)$`)
	// A line of --log-file: microseconds since 1970, status, microseconds.
	h2loadLine = regexp.MustCompile(`^\d+\t-?\d+\t\d+$`)
)

func h2loadParser() Parser {
	return Parser{
		Name: "h2load",
		ours: func(text string) bool {
			first, _, _ := strings.Cut(text, "\n")
			return h2loadLine.MatchString(first) || h2loadFinished.MatchString(text) && h2loadRequests.MatchString(text)
		},
		parse: func(text string) (Report, error) {
			if h2loadFinished.MatchString(text) {
				return parseH2load(text), nil
			}
			return parseH2loadLog(text), nil
		},
		asked: func(words []string) Asked {
			a := Asked{For: lengthOf(optionOf(words, "-D", "--duration"))}
			if a.For == 0 {
				a.Requests = countOf(optionOf(words, "-n", "--requests"), 1)
			}
			// --rps is the rate of each client.
			a.Rate = numberOf(optionOf(words, "--rps"), 0) * numberOf(optionOf(words, "-c", "--clients"), 1)
			return a
		},
	}
}

func parseH2load(text string) Report {
	var r Report
	if m := h2loadFinished.FindStringSubmatch(text); m != nil {
		r.Elapsed, r.Rate = spanText(m[1]), rateText(m[2])
	}
	if m := h2loadRequests.FindStringSubmatch(text); m != nil {
		// failed includes errored, timeout, and replies without a 2xx or 3xx status.
		r.Count, r.Errors = countText(m[3]), countText(m[5])
	}
	head, times := h2loadHead.FindStringSubmatch(text), h2loadTimes.FindStringSubmatch(text)
	if head == nil || times == nil {
		return r
	}
	// The columns differ between versions: "mean sd +/- sd" in old ones, and "median p95 p99 mean sd +/- sd" since
	// 1.66.
	columns := append([]string{"min", "max"}, strings.Fields(head[1])...)
	for i, value := range strings.Fields(times[1]) {
		if i >= len(columns) {
			break
		}
		d, ok := parseSpan(value)
		if !ok {
			continue
		}
		switch columns[i] {
		case "max":
			r.Max = &d
		case "mean":
			r.Mean = &d
		case "median":
			r.quantile(50, d)
		case "p95", "p99":
			r.quantile(numberOf(columns[i][1:], -1), d)
		}
	}
	return r
}

// parseH2loadLog reads the output of --log-file, one line for each request. It is the only way to get quantiles from
// versions that print none. A quantile is computed as h2load's own summary does: the smallest time that at least this
// share of the requests does not exceed.
func parseH2loadLog(text string) Report {
	var took []time.Duration
	var total float64
	failed := uint64(0)
	for line := range strings.SplitSeq(text, "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			continue
		}
		micros, err := strconv.ParseFloat(fields[2], 64)
		d, ok := spanOf(micros, time.Microsecond)
		if err != nil || !ok {
			continue
		}
		if !strings.HasPrefix(fields[1], "2") && !strings.HasPrefix(fields[1], "3") {
			failed++
		}
		took = append(took, d)
		total += d.Seconds()
	}
	if len(took) == 0 {
		return Report{}
	}
	slices.Sort(took)
	r := Report{Count: ptr(uint64(len(took))), Errors: &failed, Max: ptr(took[len(took)-1])}
	r.Mean = span(ptr(total/float64(len(took))), time.Second)
	for _, l := range Levels() {
		i := int(math.Ceil(l.Share()*float64(len(took)))) - 1
		r.quantile(float64(l)/10, took[max(i, 0)])
	}
	return r
}
