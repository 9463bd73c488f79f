package audit

import (
	"regexp"
	"strings"
	"time"
)

var (
	vegetaRequests = regexp.MustCompile(`(?m)^Requests\s+\[total, rate, throughput\]\s+(\d+), (\S+), (\S+)`)
	vegetaDuration = regexp.MustCompile(`(?m)^Duration\s+\[total, attack, wait\]\s+(\S+), (\S+),`)
	// The columns have names, and differ between versions.
	vegetaLatencies = regexp.MustCompile(`(?m)^Latencies\s+\[([^\]]+)\]\s+(.+)$`)
	vegetaStatuses  = regexp.MustCompile(`(?m)^Status Codes\s+\[code:count\]\s+(.*)$`)
)

func vegetaParser() Parser {
	return Parser{
		Name: "vegeta",
		ours: func(text string) bool {
			return isJSON(text, "latencies", "status_codes", "throughput") || vegetaLatencies.MatchString(text)
		},
		parse: func(text string) (Report, error) {
			if isJSON(text) {
				return parseVegetaJSON(text)
			}
			return parseVegeta(text), nil
		},
		asked: func(words []string) Asked {
			return Asked{
				Rate: vegetaRate(optionOf(words, dashed("rate")...)),
				For:  lengthOf(optionOf(words, dashed("duration")...)),
			}
		},
	}
}

// vegetaRate reads a rate such as 200, 200/s or 12000/1m. The default is 50 per second.
func vegetaRate(text string) float64 {
	count, per, _ := strings.Cut(text, "/")
	if per != "" && (per[0] < '0' || per[0] > '9') {
		per = "1" + per
	}
	n := numberOf(count, 50)
	if d, ok := parseSpan(per); ok && d > 0 {
		return n / d.Seconds()
	}
	return n
}

// vegetaErrors adds n to failed unless the status is 2xx or 3xx. Status 0 means no reply.
func vegetaErrors(status string, n *uint64, failed *uint64) *uint64 {
	if strings.HasPrefix(status, "2") || strings.HasPrefix(status, "3") {
		return failed
	}
	return sum(failed, n)
}

func parseVegeta(text string) Report {
	var r Report
	if m := vegetaRequests.FindStringSubmatch(text); m != nil {
		r.Count, r.Rate = countText(m[1]), rateText(strings.TrimSuffix(m[2], ","))
	}
	if m := vegetaDuration.FindStringSubmatch(text); m != nil {
		r.Elapsed = spanText(m[1])
	}
	if m := vegetaLatencies.FindStringSubmatch(text); m != nil {
		names, values := strings.Split(m[1], ","), strings.Split(m[2], ",")
		for i := range min(len(names), len(values)) {
			d, ok := parseSpan(values[i])
			if !ok {
				continue
			}
			switch name := strings.TrimSpace(names[i]); name {
			case "mean":
				r.Mean = &d
			case "max":
				r.Max = &d
			default:
				r.quantile(numberOf(name, -1), d)
			}
		}
	}
	if m := vegetaStatuses.FindStringSubmatch(text); m != nil {
		r.Errors = ptr(uint64(0))
		for pair := range strings.FieldsSeq(m[1]) {
			status, count, _ := strings.Cut(pair, ":")
			r.Errors = vegetaErrors(status, countText(count), r.Errors)
		}
	}
	return r
}

// vegetaJSON is the output of vegeta report -type=json. Times are in nanoseconds.
type vegetaJSON struct {
	Latencies struct {
		Mean *float64 `json:"mean"`
		P50  *float64 `json:"50th"`
		P90  *float64 `json:"90th"`
		P95  *float64 `json:"95th"`
		P99  *float64 `json:"99th"`
		Max  *float64 `json:"max"`
	} `json:"latencies"`
	Duration *float64          `json:"duration"`
	Wait     *float64          `json:"wait"`
	Requests *uint64           `json:"requests"`
	Rate     *float64          `json:"rate"`
	Statuses map[string]uint64 `json:"status_codes"`
}

func parseVegetaJSON(text string) (Report, error) {
	v, err := jsonOf[vegetaJSON](text)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Count: v.Requests, Errors: ptr(uint64(0)),
		Mean: span(v.Latencies.Mean, time.Nanosecond), Max: span(v.Latencies.Max, time.Nanosecond),
	}
	if v.Rate != nil {
		r.Rate = rate(*v.Rate)
	}
	if v.Duration != nil && v.Wait != nil { // the total of the text format is their sum
		r.Elapsed = span(ptr(*v.Duration+*v.Wait), time.Nanosecond)
	}
	for level, value := range map[Level]*float64{
		P50: v.Latencies.P50, P90: v.Latencies.P90, P95: v.Latencies.P95,
		P99: v.Latencies.P99,
	} {
		if d := span(value, time.Nanosecond); d != nil {
			r.quantile(float64(level)/10, *d)
		}
	}
	for status, n := range v.Statuses {
		r.Errors = vegetaErrors(status, &n, r.Errors)
	}
	return r, nil
}
