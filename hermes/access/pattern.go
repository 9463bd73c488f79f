package access

import (
	"cmp"
	"slices"
	"strings"

	"wirelab/hermes"
	"wirelab/wire/status"
)

// ownNames begin the names of the broker's own topics.
const ownNames = "hermes."

// pattern is a topic's name, or a beginning of names.
type pattern struct {
	text   string // without the *
	prefix bool
}

// parsePattern reads "name" or "beginning*".
func parsePattern(text string) (pattern, error) {
	beginning, prefix := strings.CutSuffix(text, "*")
	if prefix && beginning == "" {
		return pattern{prefix: true}, nil
	}
	if err := hermes.CheckTopic(beginning); err != nil {
		return pattern{}, status.Errorf(status.InvalidArgument,
			"must be a topic's name, or a beginning of names with one * behind it")
	}
	return pattern{beginning, prefix}, nil
}

func (p pattern) covers(topic string) bool {
	switch {
	case !p.prefix:
		return p.text == topic
	case p.text != "" && strings.HasPrefix(topic, ownNames) && !strings.HasPrefix(p.text, ownNames):
		return false
	}
	return strings.HasPrefix(topic, p.text)
}

// patterns are those of one right.
type patterns []pattern

func (all patterns) cover(topic string) bool {
	for _, p := range all {
		if p.covers(topic) {
			return true
		}
	}
	return false
}

// distinct is one pattern for each set of topics, so that none of two equal ones
// is listed twice. A set within another stays.
func distinct(lists ...patterns) patterns {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b pattern) int {
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(boolean(b.prefix), boolean(a.prefix)))
	})
	all = slices.Compact(all)
	for _, p := range all {
		if p.prefix && p.text == "" {
			return patterns{p}
		}
	}
	return all
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
