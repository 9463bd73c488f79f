// Package paragraph breaks text into lines, for help, errors and reports; what draws text itself asks it for the words.
// It knows words and columns, and must not know what a text is about, how it is coloured, or where it is written to.
package paragraph

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// units are what stays in the line of its number.
var units = []string{"%", "ns", "µs", "ms", "s", "B", "kB", "MB", "GB"}

// Wrap breaks a text into lines of at most so many columns, at spaces. A number keeps its unit. A word that is longer
// than a line is left whole: a command or an address that is broken cannot be copied. A text without words has no line.
func Wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range Words(text) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Width is how many columns a text takes.
func Width(text string) int { return utf8.RuneCountInString(text) }

// Words are what may not be broken: words, and numbers with their unit and one space between.
func Words(text string) []string {
	var all []string
	for _, word := range strings.Fields(text) {
		unit := strings.TrimRight(word, ".,;:)]")
		if n := len(all); n > 0 && slices.Contains(units, unit) && isNumber(all[n-1]) {
			all[n-1] += " " + word
			continue
		}
		all = append(all, word)
	}
	return all
}

// isNumber reports whether a unit may belong to a word: 12, 1.5, [−3, and +2].
func isNumber(word string) bool {
	word = strings.TrimRight(word, "])")
	return word != "" && word[len(word)-1] >= '0' && word[len(word)-1] <= '9'
}
