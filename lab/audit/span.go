package audit

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// longest is the longest time that is believed: what is above it is not an
// answer time but a unit misread, and would overflow in arithmetic.
const longest = 1000 * time.Hour

// parseSpan reads a time as tools write it: 1.57ms, 43.79 ms, 0.0025 secs,
// 143us, 1.00m. Times that are negative, endless or no number are not ok;
// wrk2 prints -nanus where it has measured nothing.
func parseSpan(text string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(strings.TrimSuffix(text, "ecs"), "ec") // secs, sec
	text = strings.ReplaceAll(text, " ", "")
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && d <= longest && !strings.HasPrefix(text, "-")
}

// spanOf returns a number of units as a time.
func spanOf(n float64, unit time.Duration) (time.Duration, bool) {
	d := math.Round(n * float64(unit))
	if math.IsNaN(d) || d < 0 || d > float64(longest) {
		return 0, false
	}
	return time.Duration(d), true
}

// span returns a number of units as a time, nil if it is none.
func span(n *float64, unit time.Duration) *time.Duration {
	if n == nil {
		return nil
	}
	if d, ok := spanOf(*n, unit); ok {
		return &d
	}
	return nil
}

// spanText returns a written time, nil if it is none.
func spanText(text string) *time.Duration {
	if d, ok := parseSpan(text); ok {
		return &d
	}
	return nil
}

// countText returns a written number of requests, nil if it is none.
func countText(text string) *uint64 {
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		return &n
	}
	return nil
}

// rateText returns a written rate, nil if it is none.
func rateText(text string) *float64 {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return rate(f)
	}
	return nil
}

// rate returns a rate, nil if it is none.
func rate(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return nil
	}
	return &f
}

// sum returns the sum of what is there, nil if nothing is.
func sum(parts ...*uint64) *uint64 {
	var total *uint64
	for _, p := range parts {
		switch {
		case p == nil:
		case total == nil:
			total = ptr(*p)
		case *total+*p < *total: // more than there can be
			return nil
		default:
			*total += *p
		}
	}
	return total
}

// jsonOf reads a text that is one JSON object.
func jsonOf[T any](text string) (T, error) {
	var v T
	err := json.Unmarshal([]byte(text), &v)
	// Where it broke says nothing to a person who did not write it.
	if e := (*json.SyntaxError)(nil); errors.As(err, &e) {
		return v, errors.New("it is not whole JSON")
	}
	return v, err
}

// isJSON reports whether a text is a JSON object with the given members, as
// far as a look can tell.
func isJSON(text string, members ...string) bool {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return false
	}
	for _, m := range members {
		if !strings.Contains(text, strconv.Quote(m)) {
			return false
		}
	}
	return true
}
