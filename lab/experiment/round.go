package experiment

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"wirelab/internal/fault"
	"wirelab/lab/control"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// round is the state of one round.
type round struct {
	c      *Runner
	result *result.Result
	number int
	r      *rand.Rand
	seed   uint64 // of every driver: all arms get the same requests
	arms   []*armRun
	step   int
	steps  int
}

// armRun is one arm in a round.
type armRun struct {
	index          int
	plan           plan.Arm
	server, driver Child           // server is nil if the arm has a target whose process is not visible
	relay          Child           // nil if the plan has none
	trials         []*result.Trial // by load
	pace           time.Duration   // how long its first calls took; 0: unknown
	paces          []time.Duration // by load, after its warm-up
	learnt         []string        // digests of the replies to the first calls: see [control.Dialled]
	failed         error           // why it is no longer in the round
	cpu            time.Duration   // used by all children
	stopped        bool            // all children are stopped
}

func newRound(c *Runner, r *result.Result, number int) *round {
	w := &round{c: c, result: r, number: number, r: c.seeded(number)}
	w.seed = w.r.Uint64()
	for i, arm := range c.Plan.Arms {
		if r.Arms[i].Out == "" {
			w.arms = append(w.arms, &armRun{index: i, plan: arm})
		}
	}
	w.steps = len(w.arms) * len(c.Plan.Loads) * (1 + c.Plan.Slices)
	return w
}

// run runs the round and leaves no process behind, whatever happens. The error is that of the first arm that could not
// be started.
func (w *round) run(ctx context.Context) (result.Round, error) {
	done := result.Round{Began: time.Now()}
	before, noiseErr := w.c.cpuTimes()
	ownBefore, err := w.c.ownTimes()
	noiseErr = errors.Join(noiseErr, err)
	w.shuffle(w.arms)
	started := w.trials(ctx)
	w.stop(ctx)
	if ctx.Err() != nil {
		done.Cut, done.Trials = true, w.over()
		return done, context.Cause(ctx)
	}
	after, err := w.c.cpuTimes()
	ownAfter, errOwn := w.c.ownTimes()
	if noiseErr = errors.Join(noiseErr, err, errOwn); noiseErr != nil {
		return done, noiseErr
	}
	own := ownSince(ownBefore, ownAfter) // runner and database are part of the experiment too
	for _, a := range w.arms {
		own += a.cpu
		if a.failed != nil {
			done.Failures = append(done.Failures, result.Failure{Arm: a.index, Why: fault.Text(a.failed)})
			continue
		}
		for _, t := range a.trials {
			done.Trials = append(done.Trials, *t)
		}
	}
	done.Noise = probe.Noise(before, after, own)
	return done, started
}

// trials measures every arm. The error is that of the first arm that could not be started.
func (w *round) trials(ctx context.Context) error {
	if w.c.cluster() {
		return w.whole(ctx)
	}
	for _, a := range w.arms {
		w.tell(Starting, a, -1)
		a.failed = w.start(ctx, a)
	}
	w.versionsDiffer()
	started := w.firstFailure()
	if started == nil || w.number > 0 {
		w.warm(ctx)
		w.floors(ctx)
		w.measure(ctx)
	}
	return started
}

// over returns the trials that were over when the round was cut. There are none if arms alternate, since the slices of
// one arm mean nothing without those of the others next to them.
func (w *round) over() (all []result.Trial) {
	if !w.c.cluster() {
		return nil
	}
	for _, a := range w.arms {
		for _, t := range a.trials {
			if len(t.Order) == w.c.Plan.Slices {
				all = append(all, *t)
			}
		}
	}
	return all
}

// whole measures one arm after the other, each from its start to its stop. If two brokers ran at the same time, work
// after acknowledgements, such as compacting, would affect the figures of the next arm (docs/concepts/claims.md).
// w.arms is in the round's order.
func (w *round) whole(ctx context.Context) (started error) {
	all := w.arms
	defer func() { w.arms = all }()
	for _, a := range all {
		w.arms = []*armRun{a} // the steps below are this arm's alone
		w.tell(Starting, a, -1)
		if a.failed = w.start(ctx, a); a.failed != nil && started == nil {
			started = a.failed
		}
		if a.failed == nil {
			w.warm(ctx)
			w.floors(ctx)
			w.measure(ctx)
		}
		w.stop(ctx)
		if ctx.Err() != nil {
			break
		}
	}
	return started
}

func (w *round) shuffle(arms []*armRun) {
	w.r.Shuffle(len(arms), func(i, j int) { arms[i], arms[j] = arms[j], arms[i] })
}

func (w *round) firstFailure() error {
	for _, a := range w.arms {
		if a.failed != nil {
			return a.failed
		}
	}
	return nil
}

// dial connects an arm's driver to a server, for all these loads, and returns how long a call took.
func (w *round) dial(ctx context.Context, a *armRun, reach control.Ready, loads []plan.Load) (time.Duration, error) {
	reply, err := w.connect(ctx, a, reach, loads, a.plan.Target != "")
	if err != nil || reply.Dialled == nil {
		return 0, err
	}
	w.met(a, reply)
	arm := &w.result.Arms[a.index]
	arm.TLS = append(arm.TLS, reply.Dialled.TLS...)
	slices.Sort(arm.TLS)
	arm.TLS = slices.Compact(arm.TLS)
	a.learnt = reply.Dialled.Learnt
	return time.Duration(reply.Dialled.Pace), nil
}

// connect connects an arm's driver to a server, for all these loads. foreign is set if wirelab did not start the
// server.
func (w *round) connect(ctx context.Context, a *armRun, reach control.Ready, loads []plan.Load,
	foreign bool,
) (control.Reply, error) {
	p := w.c.Plan
	order := control.Dial{
		Workload: p.Workload, Protocol: a.plan.Protocol, Server: a.plan.Library(), Client: a.plan.Client,
		Raw: a.plan.Raw(), Tool: a.plan.Tool(),
		Described: a.plan.Described(),
		External:  w.c.External,
		Own:       w.own(),
		Data:      p.DataOf(a.plan),
		Broker:    w.broker(a, reach),
		Address:   reach.Address, Authority: reach.Authority, Journals: reach.Journals, Stores: reach.Stores,
		Seed: w.seed, Once: w.once(a), Deadline: p.Deadline,
	}
	if foreign || w.c.External != nil {
		order.Target, order.TLS = true, w.c.tls(a.plan)
	}
	for _, l := range loads {
		order.Loads = append(order.Loads, control.Load{
			Kind: l.Kind(), Operation: p.OperationOf(l), Requests: p.RequestsOf(l),
			InFlight:    l.InFlight,
			Connections: Connections(a.plan, l, w.result.Arms[a.index].Multiplexed),
			Schedule:    schedule(l),
			Streams:     l.Streams, Rate: l.EachRate(), Reader: l.Reader,
			Messages: control.Messages{
				Scenario: l.Scenario, Size: l.Size, Batch: l.Batch, Groups: l.Groups,
				Delay: l.Delay,
			},
		})
	}
	return a.driver.Ask(ctx, control.Order{Dial: &order})
}

// broker says how to use an arm's message broker; nil if there is none.
func (w *round) broker(a *armRun, reach control.Ready) *control.Broker {
	p := w.c.Plan
	if !w.c.cluster() {
		return nil
	}
	return &control.Broker{
		Durability: p.DurabilityOf(a.plan), Variant: a.plan.Queue, Ephemeral: !p.Fails(),
		Stage: reach.Stage,
	}
}

// once returns a number that distinguishes an arm's driver in this round from all others. All arms get the same
// requests, except for requests that can be made only once: over a shared database, the second arm would get the
// results of the first, and a later run with the same seed would do nothing at all.
func (w *round) once(a *armRun) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d %d", w.result.ID, w.number, a.index) // writing to a hash cannot fail
	if again := len(w.result.Remade); again > 0 {
		_, _ = fmt.Fprintf(h, " %d", again) // what the round before stored may still be there
	} // the database may still have what the discarded round stored
	return h.Sum64()
}

// Connections returns how many connections a driver holds for an arm under a load: the number that the arm gives;
// otherwise one on a multiplexed protocol, and on other protocols one for each call in flight, since their connections
// carry one call at a time.
func Connections(a plan.Arm, l plan.Load, multiplexed bool) int {
	switch {
	case a.Connections > 0:
		return a.Connections
	case multiplexed:
		return 1
	}
	return l.Width()
}

// schedule returns the arrivals of a load, nil for the closed loop.
func schedule(l plan.Load) *load.Schedule {
	if !l.Open() || kinds.Of(l).Run.Held {
		return nil
	}
	s := &load.Schedule{Law: lawOf(l.Arrivals), Spread: l.Spread}
	for _, gap := range l.Recording.Gaps {
		s.Gaps = append(s.Gaps, time.Duration(gap))
	}
	for _, stage := range l.Stages {
		s.Stages = append(s.Stages, load.Stage{Duration: time.Duration(stage.For), From: stage.From, To: stage.To})
	}
	if len(s.Stages) == 0 {
		s.Stages = []load.Stage{{From: l.Rate, To: l.Rate}}
	}
	return s
}

// lawOf returns the engine's law for a plan's.
func lawOf(arrivals string) load.Law {
	switch arrivals {
	case plan.Constant:
		return load.Even
	case plan.LogNormal:
		return load.LogNormal
	case plan.Recorded:
		return load.Recorded
	case plan.Sampled:
		return load.Sampled
	}
	return load.Poisson
}

// warm warms up every arm under every load, in random order.
func (w *round) warm(ctx context.Context) {
	for _, l := range w.r.Perm(len(w.c.Plan.Loads)) {
		w.shuffle(w.arms)
		for _, a := range w.arms {
			if a.failed == nil && ctx.Err() == nil {
				w.tell(Warming, a, l)
				a.failed = w.warmOne(ctx, a, l)
			}
			w.step++
		}
	}
}

// measure runs the slices: in each group one of every arm under every load. The loads are in random order, and under
// each load the arms, so that a drift affects all alike (docs/concepts/claims.md).
func (w *round) measure(ctx context.Context) {
	place := 0
	for range w.c.Plan.Slices {
		for _, l := range w.r.Perm(len(w.c.Plan.Loads)) {
			w.shuffle(w.arms)
			seed := w.r.Uint64()
			for _, a := range w.arms {
				if a.failed == nil && ctx.Err() == nil {
					w.tell(Measuring, a, l)
					a.failed = w.slice(ctx, a, l, seed)
					if a.failed == nil {
						a.trials[l].Order = append(a.trials[l].Order, place)
					}
				}
				place++
				w.step++
			}
		}
	}
}

// carry makes the driver run a slice, and adds it to a trial, with the use of server and relay during it.
func (w *round) carry(ctx context.Context, a *armRun, order *control.Slice,
	t *result.Trial,
) (*control.Measured, error) {
	passed, err := relayed(ctx, a.relay)
	if err != nil {
		return nil, err
	}
	used, err := watch(ctx, a.server)
	if err != nil {
		return nil, err
	}
	stored, err := w.behind(ctx, a)
	if err != nil {
		return nil, err
	}
	reply, err := a.driver.Ask(ctx, control.Order{Slice: order})
	if err != nil {
		return nil, err
	}
	w.met(a, reply)
	if err := stored.ended(); err != nil {
		return nil, err
	}
	if a.server != nil {
		server, err := used(ctx)
		if err != nil {
			return nil, err
		}
		server.add(t)
	}
	if err := stored.add(ctx, t); err != nil {
		return nil, err
	}
	relay, err := passed(ctx, t)
	if err != nil {
		return nil, err
	}
	if !w.own() {
		reply.Slice.Usage.Others -= relay // the relay was placed on the driver's cores, so it is not a stranger there
	}
	add(t, reply.Slice)
	return reply.Slice, nil
}

// add adds a slice to its trial.
func add(t *result.Trial, m *control.Measured) {
	r := m.Recording
	t.Window += plan.Duration(r.Window)
	t.Drained += plan.Duration(r.Drained)
	t.Planned += r.Planned
	t.Sent += r.Sent
	t.OK += r.OK
	t.Watched += m.Calls
	t.Completed += r.CompletedInWindow
	t.Late += r.Late
	t.Unsent += r.Unsent
	for _, k := range kinds.All() {
		if k.Merge != nil {
			k.Merge(t, m.Particulars)
		}
	}
	for kind, n := range r.Errors {
		t.Errors[kind] += n
	}
	if t.Response == nil {
		t.Response, t.Service, t.Lag = r.Response, r.Service, r.Lag
		t.Driver = &result.Usage{}
	} else {
		t.Response.Merge(r.Response)
		t.Service.Merge(r.Service)
		t.Lag.Merge(r.Lag)
	}
	for _, h := range []struct {
		into **stat.Histogram
		from *stat.Histogram
	}{{&t.Gaps, r.Gaps}, {&t.Wake, r.Wake}, {&t.Failed, r.Failed}, {&t.Punctual, r.Punctual}, {&t.Outside, r.Outside}} {
		if h.from == nil || h.from.Count() == 0 {
			continue
		}
		if *h.into == nil {
			*h.into = stat.NewHistogram()
		}
		(*h.into).Merge(h.from)
	}
	probe.Add(t.Driver, m.Usage)
	addDrivers(t, m.Drivers)
	t.WireSent += m.WireSent
	t.Payload += m.Payload
	t.WireReceived += m.WireReceived
	t.Connections += m.Connections
	t.Open, t.Causes = m.Open, t.Causes.Add(r.Causes...)
}

// addDrivers adds what each driver measured in a slice. All slices have the same drivers.
func addDrivers(t *result.Trial, more []result.DriverShare) {
	if t.Drivers == nil {
		t.Drivers = more
		return
	}
	for i, m := range more {
		d := &t.Drivers[i]
		if time.Duration(m.Began).Abs() > time.Duration(d.Began).Abs() {
			d.Began = m.Began
		}
		d.RoundTrip, d.Offset, d.Uncertainty = m.RoundTrip, m.Offset, m.Uncertainty
		d.Planned += m.Planned
		d.Sent += m.Sent
		d.OK += m.OK
		d.Late += m.Late
		d.Unsent += m.Unsent
		probe.Add(&d.Usage, m.Usage)
		d.Response.Merge(m.Response)
		d.Service.Merge(m.Service)
		d.Lag.Merge(m.Lag)
		d.Wake.Merge(m.Wake)
	}
}

// stop stops all children at the same time, since each may take seconds to drain. A child that does not stop well is a
// failure of its arm.
func (w *round) stop(ctx context.Context) {
	w.tell(Stopping, nil, -1)
	var all sync.WaitGroup
	for _, a := range w.arms {
		if a.stopped {
			continue
		}
		a.stopped = true
		all.Go(func() {
			for i, child := range []Child{a.driver, a.relay, a.server} {
				if child == nil {
					continue
				}
				if used, err := child.CPU(); err == nil && counts(child) {
					a.cpu += used
				}
				if ctx.Err() != nil {
					child.Kill()
				}
				switch err := child.Stop(); {
				case err == nil || errors.Is(a.failed, err):
				case a.failed == nil:
					a.failed = fmt.Errorf("while stopping: %w", err)
				default: // the load generator may have failed because its server had died
					name := [...]string{"load generator", "relay", "server"}[i]
					a.failed = fmt.Errorf("%w; while stopping the %s: %w", a.failed, name, err)
				}
			}
		})
	}
	all.Wait()
}

// counts reports whether the use of a child is to be added: for one that several arms share, only once.
func counts(child Child) bool {
	shared, ok := child.(*attachedArm)
	return !ok || shared.counts()
}

// tell reports a step. a may be nil; l is below 0 if there is no load.
func (w *round) tell(phase Phase, a *armRun, l int) {
	e := Event{Phase: phase, Round: w.number + 1, Step: w.step, Steps: w.steps}
	if a != nil {
		e.Arm = w.result.Arms[a.index].Name
	}
	if l >= 0 {
		e.Load = w.c.Plan.Loads[l].String()
	}
	w.c.tell(w.result, e)
}
