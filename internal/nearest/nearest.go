// Package nearest finds the known names that someone meant by a word that is none of them: a slip of the
// keyboard, a part of a name, or the word that others have for the same thing. It knows words and no meaning:
// what a name stands for is the caller's.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// most is how many names are suggested: more is a list, and the reader has to search it.
const most = 3

// Names returns at most three of the known names, the likeliest first.
func Names(word string, known []string) []string {
	typed := plain(word)
	if typed == "" {
		return nil
	}
	meant := aliases[typed]
	type candidate struct {
		name string
		rank int
	}
	var found []candidate
	for _, name := range known {
		if rank, ok := likeness(typed, plain(name), slices.Index(meant, strings.TrimLeft(name, "-"))); ok {
			found = append(found, candidate{name, rank})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	var names []string
	for _, c := range found {
		// Another word for it or a slip says what is meant, and a part that is the same only what may be.
		if c.rank/likely == found[0].rank/likely && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	if len(found) > 0 && found[0].rank == 0 {
		return names[:1] // it was written in another way, and nothing else is meant
	}
	return names[:min(most, len(names))]
}

// Ranks: between kinds of likeness lie more than any distance or place within one, and those below
// the first multiple of likely are the kinds that are hardly by chance.
const (
	step   = 100
	likely = 3 * step
)

// likeness ranks a name: the lower, the likelier. alias is the name's place among those that the word
// is another word for, below 0 if it is none.
func likeness(typed, name string, alias int) (rank int, ok bool) {
	distance := edits(typed, name)
	switch {
	case typed == name: // but for case and signs
		return 0, true
	case alias >= 0:
		return step + alias, true
	case distance <= slips(typed) && distance < len(name):
		return 2*step + distance, true
	case len(typed) >= 2 && strings.HasPrefix(name, typed):
		return 3*step + len(name), true
	case len(typed) >= 3 && strings.Contains(name, typed):
		return 4*step + len(name), true
	case len(name) >= 4 && strings.HasPrefix(typed, name):
		return 5*step + len(typed), true
	case len(typed) >= 4 && len(name) >= 4 && typed[:4] == name[:4]:
		return 6*step + distance, true
	}
	return 0, false
}

// slips is how many slips of the keyboard a word of that length may hold.
func slips(word string) int {
	switch n := len(word); {
	case n < 3:
		return 0
	case n < 6:
		return 1
	case n < 10:
		return 2
	}
	return 3
}

// plain takes away what people write differently: case, and signs between parts of a name.
func plain(word string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', '.', ' ', '/':
			return -1
		}
		return r
	}, strings.ToLower(word[:min(len(word), 100)]))
}

// edits counts the letters to insert, remove, replace or swap with their neighbour that make a into b
// (the distance of Damerau and Levenshtein, with no letter edited twice).
func edits(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
