package audit

import (
	"strconv"
	"strings"
	"time"
)

// optionOf returns the value of the first of the named options that is in words, "" if there is none. It accepts "-q
// 20", "-q=20", and for options of one letter "-q20", since the parsers of the tools accept all three.
func optionOf(words []string, names ...string) string {
	for i, word := range words {
		for _, name := range names {
			if word == name && i+1 < len(words) {
				return words[i+1]
			}
			if value, ok := strings.CutPrefix(word, name+"="); ok {
				return value
			}
			// An option of Go's flag package may have more than one letter, so that -qps is not -q with a value. Values
			// are numbers.
			if value, ok := strings.CutPrefix(word, name); ok && len(name) == 2 && value != "" && value[0] >= '0' &&
				value[0] <= '9' {
				return value
			}
		}
	}
	return ""
}

// dashed returns each option with one dash and with two. Go's flag package treats both the same.
func dashed(names ...string) []string {
	var all []string
	for _, n := range names {
		all = append(all, "-"+n, "--"+n)
	}
	return all
}

// numberOf reads a number, and returns otherwise if the text is not one.
func numberOf(text string, otherwise float64) float64 {
	f := rateText(text)
	if f == nil {
		return otherwise
	}
	return *f
}

// countOf reads a number of requests, and returns otherwise if the text is not one.
func countOf(text string, otherwise uint64) uint64 {
	n := countText(text)
	if n == nil {
		return otherwise
	}
	return *n
}

// lengthOf reads the length of a run. A number without a unit is in seconds.
func lengthOf(text string) time.Duration {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, _ := parseSpan(text)
	return d
}
