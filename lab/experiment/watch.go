package experiment

import (
	"context"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// served is what a server used over a slice.
type served struct {
	usage result.Usage
	pool  *result.PoolUse          // how its pool of connections was used; nil: it has none
	parts map[string]plan.Duration // CPU time of each process; nil where it is one
}

// add adds it to a trial.
func (s served) add(t *result.Trial) {
	if t.Server == nil {
		t.Server = &result.Usage{}
	}
	probe.Add(t.Server, s.usage)
	if s.pool != nil {
		t.Pool = t.Pool.Add(*s.pool)
	}
	if s.parts != nil && t.Parts == nil {
		t.Parts = map[string]plan.Duration{}
	}
	for name, used := range s.parts {
		t.Parts[name] += used
	}
}

// watch reads what a server has used, and returns a function that tells what it used from then on. The exact CPU clocks
// are read last before and first after, so that the work for the other figures is not in the slice.
func watch(ctx context.Context, server Child) (func(context.Context) (served, error), error) {
	if server == nil {
		return nil, nil
	}
	before, err := server.Ask(ctx, control.Order{Usage: &struct{}{}})
	if err != nil {
		return nil, err
	}
	began, beganParts, err := clocks(server)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (served, error) {
		ended, parts, err := clocks(server)
		if err != nil {
			return served{}, err
		}
		after, err := server.Ask(ctx, control.Order{Usage: &struct{}{}})
		if err != nil {
			return served{}, err
		}
		s := served{usage: probe.Since(*before.Usage, *after.Usage), pool: pooled(before, after)}
		s.usage.CPU = plan.Duration(ended - began)
		for name, used := range parts {
			if s.parts == nil {
				s.parts = map[string]plan.Duration{}
			}
			s.parts[name] = plan.Duration(used - beganParts[name])
		}
		return s, nil
	}, nil
}

// clocks returns the CPU time that a server has used so far, and that of its processes if it has several.
func clocks(server Child) (all time.Duration, parts map[string]time.Duration, err error) {
	parted, several := server.(Parted)
	if !several {
		all, err = server.CPU()
		return all, nil, err
	}
	if parts, err = parted.Parts(); err != nil {
		return 0, nil, err
	}
	for _, used := range parts {
		all += used
	}
	return all, parts, nil
}
