package audit

import (
	"regexp"
	"strings"
)

// wrk and wrk2 print the same frame. wrk2 adds a rate, a histogram and, on request, the times as wrk measures them.

var (
	wrkHead     = regexp.MustCompile(`(?m)^Running \S+ test @ `)
	wrkLatency  = regexp.MustCompile(`(?m)^\s+Latency\s+(\S+)\s+\S+\s+(\S+)`)
	wrkQuantile = regexp.MustCompile(`(?m)^\s*([0-9.]+)%\s+(\S+)\s*$`)
	wrkCount    = regexp.MustCompile(`(?m)^\s*(\d+) requests in (\S+),`)
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec:\s+(\S+)`)
	wrkSockets  = regexp.MustCompile(`(?m)^\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
	wrkStatus   = regexp.MustCompile(`(?m)^\s*Non-2xx or 3xx responses: (\d+)`)
)

// wrk2Marks reports whether a text has marks that only wrk2 prints.
func wrk2Marks(text string) bool {
	return wrkHead.MatchString(text) &&
		(strings.Contains(text, "HdrHistogram") || strings.Contains(text, "Thread calibration:"))
}

func wrkParser() Parser {
	return Parser{
		Name:  "wrk",
		ours:  func(text string) bool { return wrkHead.MatchString(text) && !wrk2Marks(text) },
		parse: func(text string) (Report, error) { return parseWrk(text), nil },
		// wrk has no rate: it sends the next request after a reply.
		asked: func(words []string) Asked { return Asked{For: lengthOf(optionOf(words, "-d", "--duration"))} },
	}
}

func wrk2Parser() Parser {
	return Parser{
		Name: "wrk2",
		// A short run without --latency has no mark of wrk2, so the frame has to do.
		ours: func(text string) bool { return wrkHead.MatchString(text) },
		parse: func(text string) (Report, error) {
			// The part after this title, with -U, has times as wrk measures them, which wrk2 itself calls uncorrected.
			text, tail, cut := strings.Cut(text, "HdrHistogram - Uncorrected Latency")
			r := parseWrk(text)
			if cut { // the counts are at the very end
				counts := parseWrk(tail)
				r.Count, r.Elapsed, r.Rate, r.Errors = counts.Count, counts.Elapsed, counts.Rate, counts.Errors
			}
			return r, nil
		},
		asked: func(words []string) Asked {
			return Asked{
				Rate: numberOf(optionOf(words, "-R", "--rate"), 1000),
				For:  lengthOf(optionOf(words, "-d", "--duration")),
			}
		},
	}
}

func parseWrk(text string) Report {
	var r Report
	if m := wrkLatency.FindStringSubmatch(text); m != nil {
		r.Mean, r.Max = spanText(m[1]), spanText(m[2])
	}
	for _, m := range wrkQuantile.FindAllStringSubmatch(text, -1) {
		if d, ok := parseSpan(m[2]); ok {
			r.quantile(numberOf(m[1], -1), d)
		}
	}
	if m := wrkCount.FindStringSubmatch(text); m != nil {
		r.Count, r.Elapsed = countText(m[1]), spanText(m[2])
		r.Errors = ptr(uint64(0)) // wrk prints errors only if there are any
	}
	if m := wrkRate.FindStringSubmatch(text); m != nil {
		r.Rate = rateText(m[1])
	}
	// A call that took too long is counted as a timeout, and once more by its status when its reply comes. wrk does not
	// say which calls are in both, so that only the larger of the two numbers is certain.
	var slow, refused *uint64
	if m := wrkSockets.FindStringSubmatch(text); m != nil {
		r.Errors = sum(r.Errors, countText(m[1]), countText(m[2]), countText(m[3]))
		slow = countText(m[4])
	}
	if m := wrkStatus.FindStringSubmatch(text); m != nil {
		refused = countText(m[1])
	}
	if slow != nil && (refused == nil || *slow > *refused) {
		refused = slow
	}
	if refused != nil {
		r.Errors = sum(r.Errors, refused)
	}
	return r
}
