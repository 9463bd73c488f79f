package stack

import (
	"context"
	"time"

	"wirelab"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// CPU is what each part's processes have used so far, by the part's name; a
// broker that runs elsewhere is none of them. It is read from outside, by the
// kernel's clocks, and is for one goroutine at a time. A part that does not run
// is Unavailable.
func (s *Stack) CPU() (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, p := range s.pieces {
		part := p.part()
		if part.PID == 0 {
			return nil, wirelab.Errorf(wirelab.Unavailable, "%s does not run", part.Name)
		}
		used, err := s.used(p, part)
		if err != nil {
			return nil, err
		}
		all[part.Name] = used
	}
	return all, nil
}

// used is a part's CPU time: of one process, or of a broker's tree.
func (s *Stack) used(p piece, part Part) (time.Duration, error) {
	if _, single := p.(*child); single {
		return process.CPU(part.PID)
	}
	tree := s.trees[part.PID]
	if tree == nil {
		var err error
		if tree, err = process.NewTree(part.PID); err != nil {
			return 0, err
		}
		s.trees[part.PID] = tree
	}
	use, err := tree.Read()
	return use.CPU, err
}

// Usage is what the parts that are this program have used so far, summed up; of
// a broker's server it holds nothing.
func (s *Stack) Usage(ctx context.Context) (result.Usage, error) {
	var sum result.Usage
	for _, p := range s.pieces {
		c, ours := p.(*child)
		if !ours {
			continue
		}
		running := c.now.Now()
		if running == nil {
			return sum, wirelab.Errorf(wirelab.Unavailable, "%s does not run", c.name)
		}
		reply, err := running.Ask(ctx, control.Order{Usage: &struct{}{}})
		if err != nil {
			return sum, err
		}
		probe.Add(&sum, *reply.Usage)
	}
	return sum, nil
}
