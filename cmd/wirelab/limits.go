package main

import (
	"os"

	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// roomFor looks at the limits of the system before anything runs: it refuses what cannot be
// measured, and warns of what may spoil it.
func (a *app) roomFor(p plan.Plan, arms []result.Arm) error {
	limits, need := a.systemLimits(), experiment.Needs(p, arms)
	if err := need.Refused(limits); err != nil {
		return err
	}
	for _, text := range need.Warnings(limits) {
		a.Note("%s", text) // also with --quiet: it is no progress
	}
	return nil
}

// systemLimits are those of this machine.
func (a *app) systemLimits() probe.Limits {
	if a.limits != nil {
		return a.limits()
	}
	return probe.ReadLimits(os.DirFS("/"))
}
