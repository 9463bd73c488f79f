package main

import (
	"encoding/json"
	"fmt"

	"wirelab/experiment"
	"wirelab/result"
)

// progress shows an experiment's steps on standard error.
type progress struct {
	a     *app
	quiet bool
}

func (a *app) newProgress(o conductOptions) *progress { return &progress{a: a, quiet: o.quiet} }

func (p *progress) observe(e experiment.Event) {
	if !p.quiet && e.Phase == experiment.RoundOver {
		fmt.Fprintf(p.a.stderr, "round %d of %d–%d · %v left · width %.3f\n", e.Round, e.RoundsMin, e.RoundsMax, e.Left, e.Width)
	}
}

func (*progress) done() {}

// print prints a result's report.
func (a *app) print(r *result.Result, asJSON bool) error {
	_ = asJSON
	return json.NewEncoder(a.stdout).Encode(result.Analyse(r))
}
