package agent

import (
	"time"

	"wirelab"
	"wirelab/lab/load"
	"wirelab/lab/result"
)

// stepped records how long the steps of chains take. It counts only calls that are recorded and answered correctly.
type stepped struct {
	names   []string
	callers []stepCaller
}

// stepCaller is the part of one caller, so that callers share nothing while calls are made.
type stepCaller struct {
	took  []time.Duration // of the last call
	times []result.Step
}

// newStepped returns nil if an operation is not a chain.
func newStepped(clients []wirelab.Client, operation string, callers int) *stepped {
	client, can := clients[0].(wirelab.Stepping)
	if !can {
		return nil
	}
	names := client.Steps(operation)
	if len(names) == 0 {
		return nil
	}
	s := &stepped{names: names, callers: make([]stepCaller, callers)}
	for i := range s.callers {
		s.callers[i] = stepCaller{took: make([]time.Duration, len(names)), times: result.NewSteps(names)}
	}
	return s
}

// open opens a caller whose steps are timed.
func (s *stepped) open(i int, client wirelab.Client, operation, requests string, seed uint64) (load.Call, error) {
	stepping, can := client.(wirelab.Stepping)
	if !can {
		return nil, wirelab.Errorf(wirelab.Unimplemented, "%s: the client does not time steps", operation)
	}
	return stepping.StepCaller(operation, requests, seed, s.callers[i].took)
}

// watch records a call that has ended; see [load.Plan.Watch].
func (s *stepped) watch(e load.Ended) {
	if !e.Recorded || e.Err != nil {
		return
	}
	c := &s.callers[e.Caller]
	for i, took := range c.took {
		c.times[i].Times.Record(int64(took))
	}
}

// reset forgets all times.
func (s *stepped) reset() {
	for i := range s.callers {
		for _, step := range s.callers[i].times {
			step.Times.Reset()
		}
	}
}

// times returns the times of all callers together.
func (s *stepped) times() []result.Step {
	all := result.NewSteps(s.names)
	for i := range s.callers {
		all = result.AddSteps(all, s.callers[i].times)
	}
	return all
}
