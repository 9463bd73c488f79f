package audit

import (
	"strconv"
	"strings"
	"time"
)

// optionOf returns the value of the first of the named options that is in
// words, "" if none is. Each is looked for as "-q 20", "-q=20", and for
// options of one letter "-q20", as the tools' different parsers all allow.
func optionOf(words []string, names ...string) string {
	for i, word := range words {
		for _, name := range names {
			if word == name && i+1 < len(words) {
				return words[i+1]
			}
			if value, ok := strings.CutPrefix(word, name+"="); ok {
				return value
			}
			// The options of Go's flag package have one or two dashes; a
			// word such as -qps is not -q with a value: values are numbers.
			if value, ok := strings.CutPrefix(word, name); ok && len(name) == 2 && value != "" && value[0] >= '0' &&
				value[0] <= '9' {
				return value
			}
		}
	}
	return ""
}

// dashed returns an option with one dash and with two, which Go's flag
// package takes for the same.
func dashed(names ...string) []string {
	var all []string
	for _, n := range names {
		all = append(all, "-"+n, "--"+n)
	}
	return all
}

// numberOf reads a number; what is none is otherwise.
func numberOf(text string, otherwise float64) float64 {
	f := rateText(text)
	if f == nil {
		return otherwise
	}
	return *f
}

// countOf reads a number of requests; what is none is otherwise.
func countOf(text string, otherwise uint64) uint64 {
	n := countText(text)
	if n == nil {
		return otherwise
	}
	return *n
}

// lengthOf reads how long a run is, in seconds where there is no unit.
func lengthOf(text string) time.Duration {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, _ := parseSpan(text)
	return d
}
