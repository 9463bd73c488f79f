package verify

import (
	_ "embed" // for the sentences
	"strings"
	"sync"
)

//go:embed newwords.txt
var newWordsText string

// newWords replaces the sentences of reports that were put into plainer words in November 2026. Each line of
// newwords.txt has the earlier words and the present ones, separated by "|". Of two that begin at one place, the
// first line counts.
var newWords = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for line := range strings.Lines(newWordsText) {
		was, is, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		pairs = append(pairs, was, is)
	}
	return strings.NewReplacer(pairs...)
})
