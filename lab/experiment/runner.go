package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/gate"
)

// Runner is the runner of one experiment.
type Runner struct {
	// Plan must be complete.
	Plan plan.Plan
	// Arms describes the plan's arms, in the same order.
	Arms []result.Arm
	// Absent describes arms that were asked for in addition to the plan's, but are unavailable. They are copied into
	// the result.
	Absent []result.Absent
	Bench  Bench
	// Databases has the databases of the plan's servers, by kind. The value is nil for a kind that runs inside the
	// server, such as an embedded one. The use of a kind that is not in the map is not recorded.
	Databases map[string]Database
	// CPUTimes reads the CPU times of the machine; nil: of this machine. A bench that simulates servers must simulate
	// their machine too.
	CPUTimes func() (probe.CPUTimes, error)
	// Trusted has the CA certificates, in PEM, for arms with a target; "" means the system's. TLS has the other TLS
	// settings for them; nil: none.
	Trusted string
	TLS     *control.TLS
	// External is the external service that is the plan's workload, for drivers; nil: the workload is one of wirelab's.
	External json.RawMessage
	// Hosts are those that servers and drivers run on; nil: this machine.
	Hosts []result.Host
	// Environment is stored with the result.
	Environment result.Environment
	// Observe, if set, is called with every step, on the runner's goroutine.
	Observe func(Event)
	// ID and Command are copied into the result.
	ID, Command string

	// width is the width of the primary metric at the end of the last round. It is computed once for each round: its
	// exact tests take milliseconds, and slices are short.
	width float64
	// attached has the processes of targets, by their ids.
	attached map[string]*attached
}

// Phase is what the runner is doing.
type Phase string

// The phases.
const (
	Starting  Phase = "starting"
	Warming   Phase = "warming up"
	Grounding Phase = "finding the floor"
	Measuring Phase = "measuring"
	Stopping  Phase = "stopping"
	RoundOver Phase = "round over"
	Again     Phase = "made again, since the machine was busy" // for a round that is discarded
)

// Event is a step of an experiment.
type Event struct {
	Phase                Phase
	Round                int // from 1
	RoundsMin, RoundsMax int
	Step, Steps          int // of the round
	Arm, Load            string
	Elapsed              time.Duration
	// Left is an estimate of the time left; 0 if it is unknown.
	Left time.Duration
	// Width is the widest half-width of the primary metric, as a share; 0 before there is one. Goal is the plan's
	// Until.
	Width, Goal float64
	// Result is the result so far, at a RoundOver; otherwise nil. The runner owns it: read it only before Observe
	// returns, while nothing runs.
	Result *result.Result
}

// failuresInARow is how many rounds in a row an arm may fail before it is taken out.
const failuresInARow = 2

// Run runs the experiment until the plan's ending. If ctx is done first, the current round is dropped, and the complete
// rounds are returned with the ending [result.Interrupted] and no error. An error means that nothing was measured: an
// arm could not be started in the first round.
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
			// The round was cut short, so its failures are not the arms'.
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

// spoiled sets aside a round that the machine disturbed, and reports whether it did. The round is then run again with
// the same order of slices. A round in which an arm or a call failed stays, whatever the machine did: no failure may be
// lost.
func (c *Runner) spoiled(r *result.Result, done result.Round) bool {
	late := c.Plan.For > 0 && time.Since(r.Began) >= time.Duration(c.Plan.For)
	failed := len(done.Failures) > 0 ||
		slices.ContainsFunc(done.Trials, func(t result.Trial) bool { return len(t.Errors) > 0 })
	if failed || late || len(r.Remade) >= result.RemadeMost(c.Plan) {
		return false
	}
	again, disturbed := gate.Disturbed(r, &done, kinds.OfPlan(c.Plan).Manner)
	if disturbed {
		again.Place, again.Round = len(r.Rounds), done
		r.Remade = append(r.Remade, again)
	}
	return disturbed
}

// begin returns the result of an experiment that begins now.
func (c *Runner) begin() *result.Result {
	return &result.Result{
		Schema: result.Schema, Minor: result.Minor, ID: c.ID, Command: c.Command, Began: time.Now(),
		Plan: c.Plan, Arms: append([]result.Arm(nil), c.Arms...), Absent: c.Absent,
		Environment: c.Environment, Placement: c.Bench.Placement(), Hosts: c.Hosts,
	}
}

// tally counts failures and takes out arms that fail in several rounds in a row.
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

// ending returns why the experiment is over; "" if it is not.
func (c *Runner) ending(r *result.Result) result.Ending {
	// A round in which an arm failed does not count towards the least number of rounds.
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

// left estimates the time left from the time that the steps took so far. It returns 0 in the first steps, and if only
// Until ends the experiment.
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

// seeded returns the random numbers of one round. Those of different rounds are independent, so that one round can be
// replayed without the others.
func (c *Runner) seeded(round int) *rand.Rand {
	return rand.New(rand.NewPCG(c.Plan.Seed, uint64(round)+1))
}

// cpuTimes reads the CPU times of the machine so far.
func (c *Runner) cpuTimes() (probe.CPUTimes, error) {
	if c.CPUTimes != nil {
		return c.CPUTimes()
	}
	return probe.ReadCPUTimes()
}
