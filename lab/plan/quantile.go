package plan

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// percentile is a word such as "p95" or "p99.99".
var percentile = regexp.MustCompile(`^p([0-9]{1,2})(?:\.([0-9]{1,4}))?$`)

// ParsePercentile reads a word such as "p95", "p12.5" or "p99.99". It returns the quantile, and the word without
// redundant zeros ("p99.90" has one). ok is false if word is not a percentile above 0 and below 100.
func ParsePercentile(word string) (q float64, name string, ok bool) {
	found := percentile.FindStringSubmatch(word)
	if found == nil {
		return 0, "", false
	}
	whole, part := strings.TrimLeft(found[1], "0"), strings.TrimRight(found[2], "0")
	name = "p" + whole
	if whole == "" {
		name = "p0"
	}
	if part != "" {
		name += "." + part
	}
	// With an exponent instead of a division, "99.9" becomes exactly the number that "0.999" reads as.
	q, err := strconv.ParseFloat(strings.TrimPrefix(name, "p")+"e-2", 64)
	return q, name, err == nil && q > 0
}

// QuantileMetric splits the id of a quantile: "response-p95" is another quantile of the times of "response-p50", its
// base. ok is false if id is not a quantile of times that are measured.
func QuantileMetric(id string) (base, name string, q float64, ok bool) {
	at := strings.LastIndex(id, "-p")
	if at < 0 {
		return "", "", 0, false
	}
	q, name, ok = ParsePercentile(id[at+1:])
	base = id[:at] + "-p50"
	return base, name, q, ok && id == id[:at+1]+name && slices.Contains(MetricIDs(), base)
}

// isMetric reports whether id is one of the given metrics, or another quantile of the same times.
func isMetric(id string, among []string) bool {
	base, _, _, ok := QuantileMetric(id)
	return slices.Contains(among, id) || ok && slices.Contains(among, base)
}
