package prepare

import (
	"slices"

	"wirelab/lab/experiment"
	bench "wirelab/lab/pipelines"
	"wirelab/lab/plan"
	"wirelab/pipeline/stack"
)

// withPipelines returns the launcher of a plan, with pipelines if an arm is a path through one.
func (l *Lab) withPipelines(usual *experiment.Processes, program string, p plan.Plan,
	sources map[string]string,
) experiment.Bench {
	if !slices.ContainsFunc(p.Arms, func(arm plan.Arm) bool { return bench.Path(arm.Protocol) }) {
		return usual
	}
	o := stack.Options{Program: program, Getenv: l.Getenv}
	for kind, variable := range BrokerVariables() {
		if url := l.Getenv(variable); url != "" {
			o.Brokers = append(o.Brokers, stack.Broker{Kind: kind, URL: url})
		}
	}
	return bench.New(usual, p, o, sources)
}
