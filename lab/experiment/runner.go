package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/gate"
)

// Runner runs one experiment.
type Runner struct {
	// Plan must be complete.
	Plan plan.Plan
	// Arms describes the plan's arms; same length and order.
	Arms []result.Arm
	// Absent are arms that were asked for beside the plan's and cannot be had:
	// they go into the result as they are.
	Absent []result.Absent
	Bench  Bench
	// Databases are what the plan's servers keep their data in, by kind; nil
	// for a kind that lives inside the server, as an embedded one does. What a
	// kind that is not among them used is not recorded.
	Databases map[string]Database
	// CPUTimes reads what the machine's CPUs did so far; nil: those of the machine
	// that this runs on. A bench that simulates servers simulates their machine too.
	CPUTimes func() (probe.CPUTimes, error)
	// Trusted are PEM texts of the authorities to trust where an arm has a target, "" for the
	// system's, and TLS what else is particular to connecting there; nil: nothing.
	Trusted string
	TLS     *control.TLS
	// External is the external service that the plan's workload is, for drivers; nil: it is one of ours.
	External json.RawMessage
	// Environment is stored with the result.
	Environment result.Environment
	// Observe, if set, is told of every step, on the conductor's goroutine.
	Observe func(Event)
	// ID and Command go into the result as they are.
	ID, Command string

	// width is the primary metric's at the last round's end. It is worked out
	// once for each round: its exact tests cost milliseconds, and slices are short.
	width float64
	// attached are processes of targets, by their ids.
	attached map[string]*attached
}

// Phase is what the conductor is doing.
type Phase string

// The phases.
const (
	Starting  Phase = "starting"
	Warming   Phase = "warming up"
	Grounding Phase = "finding the floor"
	Measuring Phase = "measuring"
	Stopping  Phase = "stopping"
	RoundOver Phase = "round over"
	Again     Phase = "made again, since the machine was busy" // a round that is set aside
)

// Event is a step of an experiment.
type Event struct {
	Phase                Phase
	Round                int // from 1
	RoundsMin, RoundsMax int
	Step, Steps          int // of the round
	Arm, Load            string
	Elapsed              time.Duration
	// Left is the time left as far as it can be told; 0 when unknown.
	Left time.Duration
	// Width is the widest half-width of the primary metric, as a share; 0
	// before there is one. Goal is the plan's Until.
	Width, Goal float64
	// Result is what is measured so far, at a RoundOver; else nil. It is the
	// conductor's own: read it before Observe returns, while nothing runs.
	Result *result.Result
}

// failuresInARow is how many rounds in a row an arm may fail before it is out.
const failuresInARow = 2

// Run runs the experiment until the plan says that it is over. When ctx ends
// first, the round under way is given up and what was complete is returned
// with the ending [result.Interrupted] and no error. An error means that
// nothing was measured: an arm could not even be started in the first round.
func (c *Runner) Run(ctx context.Context) (*result.Result, error) {
	r := c.begin()
	undo, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer undo()
	inARow := make([]int, len(c.Plan.Arms))
	for r.Ending == "" {
		done, err := newRound(c, r, len(r.Rounds)).run(ctx)
		if ctx.Err() != nil {
			// The round was cut short; so its failures are not the arms'.
			r.Ending = result.Interrupted
			if len(done.Trials) > 0 {
				r.Rounds = append(r.Rounds, done)
			}
			break
		}
		if err != nil && len(r.Rounds) == 0 {
			return nil, err
		}
		if c.spoiled(r, done) {
			c.tell(r, Event{Phase: Again, Round: len(r.Rounds) + 1})
			continue
		}
		r.Rounds = append(r.Rounds, done)
		tally(r, done, inARow)
		c.width, _ = effect.PrimaryWidth(r)
		r.Ending = c.ending(r)
		c.tell(r, Event{Phase: RoundOver, Round: len(r.Rounds), Result: r})
	}
	r.Ended = time.Now()
	return r, nil
}

// spoiled sets a round aside that the machine disturbed: it is made again, with the same order of slices. A round in
// which an arm or a call failed stays, whatever the machine did: a failure is not to be lost.
func (c *Runner) spoiled(r *result.Result, done result.Round) bool {
	late := c.Plan.For > 0 && time.Since(r.Began) >= time.Duration(c.Plan.For)
	failed := len(done.Failures) > 0 ||
		slices.ContainsFunc(done.Trials, func(t result.Trial) bool { return len(t.Errors) > 0 })
	if failed || late || len(r.Remade) >= result.RemadeMost(c.Plan) {
		return false
	}
	again, disturbed := gate.Disturbed(r, &done)
	if disturbed {
		again.Place, again.Round = len(r.Rounds), done
		r.Remade = append(r.Remade, again)
	}
	return disturbed
}

// begin returns the result of what begins now.
func (c *Runner) begin() *result.Result {
	return &result.Result{
		Schema: result.Schema, Minor: result.Minor, ID: c.ID, Command: c.Command, Began: time.Now(),
		Plan: c.Plan, Arms: append([]result.Arm(nil), c.Arms...), Absent: c.Absent,
		Environment: c.Environment, Placement: c.Bench.Placement(),
	}
}

// tally counts failures and takes out the arms that fail round after round.
func tally(r *result.Result, done result.Round, inARow []int) {
	failed := map[int]string{}
	for _, f := range done.Failures {
		failed[f.Arm] = f.Why
	}
	for i := range r.Arms {
		why, bad := failed[i]
		if !bad {
			inARow[i] = 0
			continue
		}
		inARow[i]++
		if inARow[i] >= failuresInARow && r.Arms[i].Out == "" {
			r.Arms[i].Out = fmt.Sprintf("failed in %d rounds in a row: %s", inARow[i], why)
		}
	}
}

// ending tells whether, and why, the experiment is over.
func (c *Runner) ending(r *result.Result) result.Ending {
	// A round in which an arm failed is none for the fewest that are asked for.
	p, n, usable := c.Plan, len(r.Rounds), effect.UsableRounds(r)
	switch in := c.armsIn(r); {
	case in < min(2, len(r.Arms)):
		return result.Failed
	case n >= p.Rounds.Max:
		return result.RoundsDone
	case usable < p.Rounds.Min:
		return ""
	case p.For > 0 && time.Since(r.Began) >= time.Duration(p.For):
		return result.TimeUsed
	case p.Until > 0:
		if width, ok := effect.PrimaryWidth(r); ok && width <= p.Until {
			return result.WidthReached
		}
	case p.For == 0:
		return result.RoundsDone
	}
	return ""
}

// tell completes an event and passes it on.
func (c *Runner) tell(r *result.Result, e Event) {
	if c.Observe == nil {
		return
	}
	e.RoundsMin, e.RoundsMax, e.Goal = c.Plan.Rounds.Min, c.Plan.Rounds.Max, c.Plan.Until
	e.Elapsed = time.Since(r.Began)
	e.Width = c.width
	e.Left = c.left(r, e)
	c.Observe(e)
}

// left estimates the time left from the time the steps so far took. It is
// unknown in the first steps, and when only Until is to end the experiment.
func (c *Runner) left(r *result.Result, e Event) time.Duration {
	done := float64(len(r.Rounds))
	if e.Phase != RoundOver && e.Steps > 0 {
		done += float64(e.Step) / float64(e.Steps)
	}
	if done < 0.1 || r.Ending != "" {
		return 0
	}
	each := float64(e.Elapsed) / done
	toMin := time.Duration(each * max(0, float64(c.Plan.Rounds.Min)-done))
	switch {
	case c.Plan.For > 0:
		return max(toMin, time.Duration(c.Plan.For)-e.Elapsed)
	case c.Plan.Until > 0:
		return 0
	}
	return toMin
}

// seeded returns the random numbers of a part of the experiment. Streams of
// different rounds do not depend on each other, so that a replay of one round
// needs not the others.
func (c *Runner) seeded(round int) *rand.Rand {
	return rand.New(rand.NewPCG(c.Plan.Seed, uint64(round)+1))
}

// cpuTimes reads what the machine's CPUs did so far.
func (c *Runner) cpuTimes() (probe.CPUTimes, error) {
	if c.CPUTimes != nil {
		return c.CPUTimes()
	}
	return probe.ReadCPUTimes()
}
