package hosts

import (
	"context"
	"os"

	"wirelab"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Bench is the bench of an experiment over hosts.
type Bench struct {
	fleet   *Fleet
	plan    plan.Plan
	servers []Info // an arm's server is on the one of its place, in turn
	drivers []Info
}

var _ experiment.Bench = (*Bench)(nil)

// NewBench returns the bench of a plan over hosts of a fleet: those that the plan names, or all of a role. It refuses
// what hosts cannot do.
func NewBench(ctx context.Context, f *Fleet, p plan.Plan) (*Bench, error) {
	all, err := f.List(ctx)
	if err != nil {
		return nil, err
	}
	b := &Bench{fleet: f, plan: p}
	if b.drivers, err = Choose(all, p.Hosts.Drivers, Driver); err != nil {
		return nil, err
	}
	for _, arm := range p.Arms {
		if arm.Target == "" && b.servers == nil {
			if b.servers, err = Choose(all, p.Hosts.Servers, Server); err != nil {
				return nil, err
			}
		}
	}
	for _, h := range append(b.servers[:len(b.servers):len(b.servers)], b.drivers...) {
		if !h.Build.Same(f.Build) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"host %s runs wirelab %s (%s), this is %s (%s): install the same on both", h.Name,
				h.Build.Version, short(h.Build.Program), f.Build.Version, short(f.Build.Program))
		}
	}
	return b, nil
}

// server is the host of an arm's server.
func (b *Bench) server(arm plan.Arm) Info {
	for i := range b.plan.Arms {
		if b.plan.Arms[i].Name == arm.Name {
			return b.servers[i%len(b.servers)]
		}
	}
	return b.servers[0]
}

// Server implements [experiment.Bench].
func (b *Bench) Server(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	return b.serve(ctx, arm, arm.Null())
}

// Null implements [experiment.Bench].
func (b *Bench) Null(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	return b.serve(ctx, arm, true)
}

func (b *Bench) serve(ctx context.Context, arm plan.Arm, null bool) (experiment.Child, error) {
	s := &Serve{Workload: b.plan.Workload, Protocol: arm.Protocol, Data: b.plan.DataOf(arm), Null: null}
	if !null {
		s.Library, s.Inject = arm.Server, arm.Inject
	}
	c, err := b.fleet.begin(ctx, b.server(arm), Server, s)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Driver implements [experiment.Bench].
func (b *Bench) Driver(ctx context.Context, _ plan.Arm) (experiment.Child, error) {
	d, err := b.fleet.drive(ctx, b.drivers)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Placement implements [experiment.Bench]: no child of a host is pinned.
func (b *Bench) Placement() result.Placement { return result.Placement{} }

// Noise is what the machines of all hosts in use did so far.
func (b *Bench) Noise() (probe.CPUTimes, error) {
	return b.fleet.noise(append(b.servers[:len(b.servers):len(b.servers)], b.drivers...))
}

// Hosts are those in use, for the result.
func (b *Bench) Hosts(ctx context.Context) (all []result.Host, err error) {
	add := func(h Info, r Role) error {
		for i := range all {
			if all[i].Name == h.Name {
				all[i].Roles = append(all[i].Roles, string(r))
				return nil
			}
		}
		c, err := b.fleet.Clock(ctx, h.Name, roundTrips)
		all = append(all, result.Host{
			Name: h.Name, Roles: []string{string(r)}, Address: h.Address, Environment: h.Environment,
			RoundTrip: plan.Duration(c.RoundTrip), Offset: plan.Duration(c.Offset),
			Uncertainty: plan.Duration(c.Uncertainty), Findings: h.Findings,
		})
		return err
	}
	for _, h := range b.servers {
		if err := add(h, Server); err != nil {
			return nil, err
		}
	}
	for _, h := range b.drivers {
		if err := add(h, Driver); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Machine identifies the machine that this runs on, by its boot; "" where the kernel does not tell.
func Machine() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // then each host counts as a separate machine
	return string(id)
}
