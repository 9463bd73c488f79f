package loads

import (
	"slices"
	"time"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/workload/catalog"
)

// Messages has the flags for loads of messages.
type Messages struct {
	Scenarios           []string
	Size, Batch, Groups int
	Delay               time.Duration
}

// Loads sets the plan's loads: one for each pace and scenario that was asked for.
func (f *Messages) Loads(p *plan.Plan) error {
	scenarios := f.Scenarios
	switch {
	case p.Workload != catalog.Messaging && len(scenarios) > 0:
		return wirelab.Errorf(wirelab.InvalidArgument, "--scenario needs --workload %s", catalog.Messaging)
	case p.Workload != catalog.Messaging:
		if f.Size != 0 || f.Batch != 0 || f.Groups != 0 || f.Delay != 0 {
			return wirelab.Errorf(wirelab.InvalidArgument,
				"--size, --batch, --groups and --reader-delay need --workload %s", catalog.Messaging)
		}
		return nil
	case len(scenarios) == 0:
		scenarios = []string{plan.Live}
	case slices.Contains(scenarios, "all"):
		// A full disk must be asked for separately.
		scenarios = slices.DeleteFunc(plan.Scenarios(), func(s string) bool { return s == plan.DiskFull })
	}
	paces := p.Loads
	if len(paces) == 0 {
		paces = []plan.Load{{}}
	}
	p.Loads = nil
	for _, pace := range paces {
		for _, s := range scenarios {
			pace.Scenario, pace.Size, pace.Batch, pace.Groups = s, f.Size, f.Batch, f.Groups
			if pace.Delay = 0; s == plan.Slow || pace.Fails() {
				pace.Delay = plan.Duration(f.Delay)
			}
			p.Loads = append(p.Loads, pace)
		}
	}
	return nil
}
