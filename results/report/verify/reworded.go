package verify

import (
	"regexp"
	"slices"
	"strings"
)

// rewordings turn sentences of earlier versions into those of today, so that a document does not count as edited
// because only our words have changed. They keep the figures, which are compared as before.
var rewordings = []struct {
	was *regexp.Regexp
	is  string
}{
	// Until November 2026 a missing figure was printed with its unit.
	{regexp.MustCompile(`–(?:[nµm]?s|[kM]?B|/s)\b`), "–"},
	{
		regexp.MustCompile(`; wrong or failed ones from (\d+) of the arms, see below`),
		"; $1 of the arms had wrong or failed ones, see below",
	},
	// For some days the name of this line had no space after it.
	{regexp.MustCompile(`\bmade again(\d+ of \d+ rounds )`), "remade $1"},
	// The longest first: "99.99 %" ends with "99 %".
	{lateness(`99\.99`), "1 call in 10000 was made later than $1 after it was due, which moved the 99.9th " +
		"percentile by $2"},
	{lateness(`99\.9`), "1 call in 1000 was made later than $1 after it was due, which moved the 99th " +
		"percentile by $2"},
	{lateness("99"), "1 call in 100 was made later than $1 after it was due, which moved the median by $2"},
	{
		regexp.MustCompile(`\bbefore a broker that does nothing the driver sends (\S+) messages a second, (\S+) ` +
			`times what the fastest arm takes and (\S+) times this one`),
		"against a broker that does nothing, the driver sends $1 messages a second, $2 times the rate of the " +
			"fastest arm and $3 times that of this one",
	},
	{
		regexp.MustCompile(`\b(\d+ of \d+ rounds) (was|were) made again, before anybody looked at their figures: `),
		"$1 $2 repeated, before their figures were examined: ",
	},
	{
		regexp.MustCompile(`\b(\S+ made \S+ calls), where the rate gives `),
		"$1, but the rate gives ",
	},
	{
		regexp.MustCompile(`( calls in flight), where (\d+ were kept)`),
		"$1, but $2",
	},
}

// lateness is how a quantile of lateness was told until November 2026.
func lateness(percent string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + percent +
		` % of calls were made up to (\S+) after they were due, which moved that quantile by ([0-9.]+ %)`)
}

// Reworded returns a text of an earlier version in the words of today.
func Reworded(text string) string {
	for _, r := range rewordings {
		text = r.was.ReplaceAllString(text, r.is)
	}
	return newWords().Replace(text)
}

// sameLines reports whether two reports say the same, with lines broken at the same or other places, since a reworded
// sentence has another length. Where a value is refused today, the stored report may have a number: the analysis has
// it, and is compared.
func sameLines(stored, computed []any) bool {
	s, c := running(stored), running(computed)
	was, is := strings.Fields(Reworded(s)), strings.Fields(c)
	if Reworded(s) == s { // nothing of it is in other words
		return false
	}
	return slices.EqualFunc(was, is, func(w, i string) bool { return w == i || i == "–" && number.MatchString(w) })
}

var number = regexp.MustCompile(`^[0-9][0-9.,]*$`)

// running joins the words of lines.
func running(lines []any) string {
	var words []string
	for _, line := range lines {
		text, _ := line.(string)
		words = append(words, strings.Fields(text)...)
	}
	return strings.Join(words, " ")
}
