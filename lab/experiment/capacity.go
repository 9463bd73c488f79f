package experiment

import (
	"context"
	"fmt"
	"time"

	"wirelab/internal/fault"
	"wirelab/lab/control"
	"wirelab/lab/kind/capacity"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Probing is the phase in which an arm is tried at a rate.
const Probing Phase = "probing"

// probesUsual is roughly how many probes a search makes, for estimates.
const probesUsual = 9

// SearchCapacity searches, in rounds of fresh processes, for the highest rate at which each arm meets an objective; see
// [result.Capacity]. settings has all its fields except the rounds. The plan has one load, a closed loop, from which
// each search begins. The arms alternate after every probe, in random order.
//
// If ctx is done first, the current round is dropped, and the complete rounds are returned with the ending
// [result.Interrupted] and no error. An error means that nothing was found: an arm could not be started in the first
// round.
func (c *Runner) SearchCapacity(ctx context.Context, settings result.Capacity) (*result.Result, error) {
	objective, err := capacity.ParseObjective(settings.Objective)
	if err != nil {
		return nil, err
	}
	r := c.begin()
	undo, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer undo()
	settings.Rounds = []result.CapacityRound{}
	r.Capacity = &settings
	inARow := make([]int, len(c.Plan.Arms))
	for r.Ending == "" {
		s := searching{round: newRound(c, r, len(r.Capacity.Rounds)), objective: objective}
		s.steps = 0 // the number of probes is not known yet
		done, err := s.run(ctx)
		if ctx.Err() != nil {
			r.Ending = result.Interrupted
			break
		}
		if err != nil && len(r.Capacity.Rounds) == 0 {
			return nil, err
		}
		r.Capacity.Rounds = append(r.Capacity.Rounds, done)
		tally(r, result.Round{Failures: done.Failures}, inARow)
		if c.armsIn(r) == 0 {
			r.Ending = result.Failed
		} else if len(r.Capacity.Rounds) >= c.Plan.Rounds.Min {
			r.Ending = result.RoundsDone
		}
		s.tell(RoundOver, nil, "")
	}
	r.Ended = time.Now()
	return r, nil
}

// armsIn returns how many arms are still in the experiment.
func (c *Runner) armsIn(r *result.Result) int {
	in := 0
	for _, a := range r.Arms {
		if a.Out == "" {
			in++
		}
	}
	return in
}

// searching is the state of one round of searches.
type searching struct {
	*round
	objective capacity.Objective
	searches  []*armSearch
	place     int // index of the next slice or probe
}

// armSearch is the search of one arm.
type armSearch struct {
	*armRun
	search *capacity.Search
	found  result.CapacitySearch
}

// run runs the round and leaves no process behind, whatever happens. The error is that of the first arm that could not
// be started.
func (s *searching) run(ctx context.Context) (result.CapacityRound, error) {
	done := result.CapacityRound{Began: time.Now(), Searches: []result.CapacitySearch{}}
	s.shuffle(s.arms)
	for _, a := range s.arms {
		s.tell(Starting, a, "")
		a.failed = s.start(ctx, a)
	}
	started := s.firstFailure()
	if started == nil || s.number > 0 {
		s.warm(ctx)
		s.step = 0
		s.closed(ctx)
		s.probes(ctx)
	}
	s.stop(ctx)
	if ctx.Err() != nil {
		return done, context.Cause(ctx)
	}
	for _, a := range s.arms {
		if a.failed != nil {
			done.Failures = append(done.Failures, result.Failure{Arm: a.index, Why: fault.Text(a.failed)})
		}
	}
	for _, a := range s.searches {
		if a.failed == nil {
			done.Searches = append(done.Searches, a.found)
		}
	}
	return done, started
}

// closed measures each arm in the closed loop, its slices in random order, and begins its search from the result.
func (s *searching) closed(ctx context.Context) {
	for range s.c.Plan.Slices {
		s.shuffle(s.arms)
		seed := s.r.Uint64()
		for _, a := range s.arms {
			if a.failed == nil && ctx.Err() == nil {
				s.tell(Measuring, a, s.c.Plan.Loads[0].String())
				a.failed = s.slice(ctx, a, 0, seed)
				a.trials[0].Order = append(a.trials[0].Order, s.place)
			}
			s.place++
		}
	}
	settings := s.result.Capacity
	for _, a := range s.arms {
		if a.failed != nil || ctx.Err() != nil {
			continue
		}
		t := a.trials[0]
		if t.Completed == 0 || t.Window <= 0 {
			a.failed = fmt.Errorf("no call was answered in the closed loop: %s", load.Kinds(t.Errors))
			continue
		}
		rate := float64(t.Completed) / time.Duration(t.Window).Seconds()
		s.searches = append(s.searches, &armSearch{
			armRun: a, search: capacity.SearchFrom(settings, s.objective, rate),
			found: result.CapacitySearch{
				Arm: a.index, Steady: t.Steady, Warmed: t.Warmed, Closed: *t,
				Probes: []result.Probe{},
			},
		})
	}
}

// probes makes the probes of all searches, one of each in turn, until every search is over. The order is drawn anew for
// each turn.
func (s *searching) probes(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		more = false
		order := s.r.Perm(len(s.searches))
		seed := s.r.Uint64()
		for _, i := range order {
			a := s.searches[i]
			rate, ok := a.search.Next()
			if !ok || a.failed != nil || ctx.Err() != nil {
				continue
			}
			more = true
			s.tell(Probing, a.armRun, plan.Load{Rate: rate}.String())
			p, err := s.probe(ctx, a, rate, seed)
			if err != nil {
				a.failed = err
				continue
			}
			a.found.Probes = append(a.found.Probes, p)
			a.search.Tell(p.Outcome)
			s.step++
		}
	}
}

// probe tries an arm at a rate.
func (s *searching) probe(ctx context.Context, a *armSearch, rate float64, seed uint64) (result.Probe, error) {
	settings := s.result.Capacity
	length := capacity.Length(settings, s.objective, rate)
	head, whole := headed(plan.Duration(length/headShare), plan.Duration(length), s.pace(0),
		time.Duration(s.c.Plan.Deadline))
	order := control.Slice{
		For: whole, Head: head, Seed: seed, Parts: settings.Parts,
		Schedule: &load.Schedule{Law: load.Poisson, Stages: []load.Stage{{From: rate, To: rate}}},
	}
	limit := time.Duration(whole) + 2*time.Duration(s.c.Plan.Deadline) + startTime
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("probe not over within %v", limit))
	defer cancel()
	noise, err := s.listen()
	if err != nil {
		return result.Probe{}, err
	}
	p := result.Probe{
		Place: s.place, Rate: rate, For: order.For,
		Trial: result.Trial{Arm: a.index, Steady: true, Errors: map[string]uint64{}, Order: []int{s.place}},
	}
	s.place++
	measured, err := s.carry(ctx, a.armRun, &order, &p.Trial)
	if err != nil {
		return result.Probe{}, err
	}
	p.Parts = measured.Recording.Parts
	if p.Noise, err = noise(); err != nil {
		return result.Probe{}, err
	}
	p.Outcome, p.Why = capacity.Judge(settings, s.result, s.objective, &p)
	return p, nil
}

// listen reads the use of the machine's CPUs, and returns a function that tells what other processes used from then on.
func (s *searching) listen() (func() (result.Noise, error), error) {
	before, err := s.c.cpuTimes()
	if err != nil {
		return nil, err
	}
	ownBefore, childrenBefore, err := s.used()
	if err != nil {
		return nil, err
	}
	return func() (result.Noise, error) {
		after, err := s.c.cpuTimes()
		if err != nil {
			return result.Noise{}, err
		}
		own, children, err := s.used()
		if err != nil {
			return result.Noise{}, err
		}
		return probe.Noise(before, after, ownSince(ownBefore, own)+children-childrenBefore), nil
	}, nil
}

// used returns the CPU time so far of all processes of the experiment: own as in [Runner.ownTimes], and that of the
// children. A child that has died is a failure of its arm, and no error here.
func (s *searching) used() (own map[string]time.Duration, children time.Duration, err error) {
	own, err = s.c.ownTimes()
	for _, a := range s.arms {
		for _, child := range []Child{a.server, a.driver, a.relay} {
			if child == nil {
				continue
			}
			if used, err := child.CPU(); err == nil {
				children += used
			}
		}
	}
	return own, children, err
}

// tell reports a step.
func (s *searching) tell(phase Phase, a *armRun, what string) {
	c := s.c
	if c.Observe == nil {
		return
	}
	steps := max(probesUsual*len(s.arms), s.step+1)
	e := Event{
		Phase: phase, Round: s.number + 1, RoundsMin: c.Plan.Rounds.Min, RoundsMax: c.Plan.Rounds.Min,
		Step: s.step, Steps: steps, Load: what, Elapsed: time.Since(s.result.Began),
	}
	if a != nil {
		e.Arm = s.result.Arms[a.index].Name
	}
	done := float64(len(s.result.Capacity.Rounds))
	if phase == RoundOver {
		e.Result = s.result
	} else {
		done += float64(s.step) / float64(steps)
	}
	if all := float64(c.Plan.Rounds.Min); done > 0 && s.result.Ending == "" {
		e.Left = time.Duration(float64(e.Elapsed) / done * max(0, all-done))
	}
	c.Observe(e)
}
