package selftest

import (
	"slices"
	"strings"

	"wirelab"
	"wirelab/lab/plan"
)

// companies maps the values of --busy to companies.
var companies = []struct {
	word string
	with company
}{{"none", alone}, {"driver", besideDriver}, {"server", besideServer}}

// CheckGates returns an error if the choice of runs for [Gates] is wrong.
func (e Env) CheckGates() error {
	_, _, err := e.gates()
	return err
}

// gates returns the paces and companies that were chosen.
func (e Env) gates() ([]pace, []company, error) {
	if e.Driver != "" && e.Driver != plan.DriverClient && e.Driver != plan.DriverRaw {
		return nil, nil, wirelab.UnknownName("driver", e.Driver, []string{plan.DriverClient, plan.DriverRaw}, "")
	}
	var chosen []pace
	var names []string
	for _, p := range paces(e.Driver) {
		names = append(names, p.String())
		named := func(word string) bool { return strings.Contains(p.String(), word) }
		if len(e.Loads) == 0 || slices.ContainsFunc(e.Loads, named) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument,
			"no load of the gates has %s in its name; they are: %s",
			strings.Join(e.Loads, " or "), strings.Join(names, "; "))
	}
	var with []company
	words := make([]string, len(companies))
	for i, b := range companies {
		words[i] = b.word
		if len(e.Busy) == 0 || slices.Contains(e.Busy, b.word) {
			with = append(with, b.with)
		}
	}
	for _, word := range e.Busy {
		if !slices.Contains(words, word) {
			return nil, nil, wirelab.UnknownName("core", word, words, "")
		}
	}
	return chosen, with, nil
}
