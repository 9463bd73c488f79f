package prepare

import (
	"context"

	"wirelab"
	"wirelab/lab/experiment"
	"wirelab/lab/hosts"
	bench "wirelab/lab/pipelines"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// overHosts returns a runner whose servers and drivers are on other machines.
func (l *Lab) overHosts(ctx context.Context, p plan.Plan, arms []result.Arm) (*experiment.Runner, error) {
	if l.Fleet == nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"the plan runs over hosts: give --hosts nats://HOST:PORT, where they joined")
	}
	for _, arm := range p.Arms {
		if bench.Path(arm.Protocol) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"arm %s leads through the log pipeline, whose processes run on this machine: leave --hosts out", arm.Name)
		}
	}
	secure, err := l.readSecure(ctx, p.TLS)
	if err != nil {
		return nil, err
	}
	b, err := hosts.NewBench(ctx, l.Fleet, p)
	if err != nil {
		return nil, err
	}
	used, err := b.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	return &experiment.Runner{
		Plan: p, Arms: arms, Bench: b, Environment: probe.Environment(), CPUTimes: b.Noise, Hosts: used,
		Trusted: secure.Authority, TLS: secure.TLS,
	}, nil
}
