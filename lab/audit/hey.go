package audit

import (
	"regexp"
	"strings"
	"time"
)

// hey, ghz and oha print the same summary, which hey had first. The labels differ in details.

var (
	summaryTotal    = regexp.MustCompile(`(?m)^\s+Total:\s+(\S+ ?\S*)\s*$`)
	summarySlowest  = regexp.MustCompile(`(?m)^\s+Slowest:\s+(\S+ ?\S*)\s*$`)
	summaryAverage  = regexp.MustCompile(`(?m)^\s+Average:\s+(\S+ ?\S*)\s*$`)
	summaryRate     = regexp.MustCompile(`(?m)^\s+Requests/sec:\s+(\S+)`)
	summaryCount    = regexp.MustCompile(`(?m)^\s+Count:\s+(\d+)`)
	summaryQuantile = regexp.MustCompile(`(?m)^\s+([0-9.]+) ?%+ in (\S+ \S+)\s*$`)
	// A status is a number, or a word for gRPC.
	summaryStatus = regexp.MustCompile(`(?m)^\s+\[(\w+)\]\s+(\d+) responses?\s*$`)
	// An error is a number in brackets, followed by text.
	summaryError = regexp.MustCompile(`(?m)^\s+\[(\d+)\]\s+\S`)
)

// summary reports whether a text has the marks of this format, and the given ones.
func summary(text string, marks ...string) bool {
	if !strings.Contains(text, "Summary:\n") || !strings.Contains(text, "Requests/sec:") {
		return false
	}
	for _, m := range marks {
		if !strings.Contains(text, m) {
			return false
		}
	}
	return true
}

// parseSummary reads the summary. right reports whether a status means a correct reply.
func parseSummary(text string, right func(status string) bool) Report {
	r := Report{
		Mean: spanIn(summaryAverage, text), Max: spanIn(summarySlowest, text),
		Elapsed: spanIn(summaryTotal, text),
	}
	if m := summaryRate.FindStringSubmatch(text); m != nil {
		r.Rate = rateText(m[1])
	}
	for _, m := range summaryQuantile.FindAllStringSubmatch(text, -1) {
		if d, ok := parseSpan(m[2]); ok {
			r.quantile(numberOf(m[1], -1), d)
		}
	}
	answered, failed := ptr(uint64(0)), ptr(uint64(0))
	text, errors, _ := strings.Cut(text, "\nError distribution:")
	for _, m := range summaryStatus.FindAllStringSubmatch(text, -1) {
		answered = sum(answered, countText(m[2]))
		if !right(m[1]) {
			failed = sum(failed, countText(m[2]))
		}
	}
	for _, m := range summaryError.FindAllStringSubmatch(errors, -1) {
		failed, answered = sum(failed, countText(m[1])), sum(answered, countText(m[1]))
	}
	r.Count, r.Errors = answered, failed
	return r
}

// spanIn returns the time that a pattern finds, or nil.
func spanIn(pattern *regexp.Regexp, text string) *time.Duration {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return spanText(m[1])
	}
	return nil
}

func heyParser() Parser {
	return Parser{
		Name: "hey",
		ours: func(text string) bool {
			return summary(text, "Total:", " secs") && !strings.Contains(text, "Count:") &&
				!strings.Contains(text, "Success rate:")
		},
		parse: func(text string) (Report, error) {
			return parseSummary(text, func(status string) bool { return strings.HasPrefix(status, "2") }), nil
		},
		asked: func(words []string) Asked {
			a := Asked{For: lengthOf(optionOf(words, dashed("z")...))}
			if a.For == 0 {
				a.Requests = countOf(optionOf(words, dashed("n")...), 200)
			}
			// -q is the rate of each worker.
			a.Rate = numberOf(optionOf(words, dashed("q")...), 0) * numberOf(optionOf(words, dashed("c")...), 50)
			return a
		},
	}
}
