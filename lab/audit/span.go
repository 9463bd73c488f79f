package audit

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// longest is the longest time that is accepted. A longer one is no response time but a misread unit, and would overflow
// in arithmetic.
const longest = 1000 * time.Hour

// parseSpan reads a time in the formats of the tools: 1.57ms, 43.79 ms, 0.0025 secs, 143us, 1.00m. ok is false for
// times that are negative or infinite and for text that is no number: wrk2 prints -nanus if it has measured nothing.
func parseSpan(text string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(strings.TrimSuffix(text, "ecs"), "ec") // secs, sec
	text = strings.ReplaceAll(text, " ", "")
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && d <= longest && !strings.HasPrefix(text, "-")
}

// spanOf returns n units as a time. ok is false outside 0 to longest.
func spanOf(n float64, unit time.Duration) (time.Duration, bool) {
	d := math.Round(n * float64(unit))
	if math.IsNaN(d) || d < 0 || d > float64(longest) {
		return 0, false
	}
	return time.Duration(d), true
}

// span returns n units as a time, nil if n is nil or the time is invalid.
func span(n *float64, unit time.Duration) *time.Duration {
	if n == nil {
		return nil
	}
	if d, ok := spanOf(*n, unit); ok {
		return &d
	}
	return nil
}

// spanText parses a time, and returns nil if the text is not one.
func spanText(text string) *time.Duration {
	if d, ok := parseSpan(text); ok {
		return &d
	}
	return nil
}

// countText parses a number of requests, and returns nil if the text is not one.
func countText(text string) *uint64 {
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		return &n
	}
	return nil
}

// rateText parses a rate, and returns nil if the text is not one.
func rateText(text string) *float64 {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return rate(f)
	}
	return nil
}

// rate returns a pointer to f, nil if f is not a valid rate.
func rate(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return nil
	}
	return &f
}

// sum returns the sum of the parts that are not nil. It returns nil if there are none, or on overflow.
func sum(parts ...*uint64) *uint64 {
	var total *uint64
	for _, p := range parts {
		switch {
		case p == nil:
		case total == nil:
			total = ptr(*p)
		case *total+*p < *total: // overflow: no tool can have sent that many
			return nil
		default:
			*total += *p
		}
	}
	return total
}

// jsonOf decodes a text that is one JSON object.
func jsonOf[T any](text string) (T, error) {
	var v T
	err := json.Unmarshal([]byte(text), &v)
	// The offset of a syntax error does not help a person who did not write the JSON.
	if e := (*json.SyntaxError)(nil); errors.As(err, &e) {
		return v, errors.New("it is not complete JSON")
	}
	return v, err
}

// isJSON reports whether a text looks like a JSON object with the given members. It does not parse the text.
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
