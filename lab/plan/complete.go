package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"wirelab"
)

// The defaults that [Plan.Complete] fills in.
const (
	defaultRoundsMin    = 10
	defaultRoundsMax    = 100
	defaultSlicesClosed = 10
	defaultSlicesOpen   = 3
	// Short slices make many rounds possible: ±1.2 % of CPU in 60 s, where 50 ms gave ±1.5 %.
	defaultSliceClosed  = Duration(30 * time.Millisecond)
	defaultSliceOpen    = Duration(time.Second)
	defaultWarmUp       = Duration(200 * time.Millisecond)
	defaultInFlightOpen = 256
	defaultSpread       = 2
	defaultDeadline     = Duration(10 * time.Second)
	defaultPractical    = 0.01
	defaultEquivalent   = 0.03
)

// The distributions of arrivals, the kinds of pinning, the drivers, and whether floors are measured.
const (
	Poisson   = "poisson"
	Constant  = "constant"
	LogNormal = "log-normal"
	Recorded  = "recorded"
	Sampled   = "sampled"

	PinAuto = "auto"
	PinNone = "none"

	ServerNull = "null" // not a library, but a server that does nothing

	DriverClient = "client"
	DriverRaw    = "raw"
	// DriverDescribed is the raw driver for services that are not ours. It records a request of the client, and
	// learns which reply is right.
	DriverDescribed = "described"
	DriverTool      = "tool:" // followed by the name of another load generator

	FloorAuto = "auto"
	FloorNone = "none"
)

// seedLimit keeps a drawn seed exact in programs that read JSON numbers as floating point.
const seedLimit = 1 << 53

// Complete checks the plan. It returns a copy with every default filled in, a seed drawn and every arm named. An
// error gives the field, its value and the allowed values. Completing a complete plan changes nothing. p is not
// changed.
//
// Complete does not check what only a workload knows: whether the workload, operation, protocols and libraries exist.
func (p Plan) Complete() (Plan, error) {
	// The plan is also checked before it is completed. Later a default could not be told from a value that was
	// written, and no default may be derived from an invalid value.
	if err := p.checkWritten(); err != nil {
		return Plan{}, err
	}
	p.Arms = nameArms(p.Arms)
	p.Loads = p.completeLoads()
	p.completePublished()
	open := p.Loads[0].Open()

	p.Rounds = p.Rounds.complete()
	traits := p.traits()
	if traits.complete != nil {
		traits.complete(&p)
	}
	trip := p.trip()
	if path, given, _ := p.Path(); given { // the error was checked above
		p.Network = path.String() // otherwise a preset's name would remain, whose meaning could change
	}
	if p.tooled() && !open {
		setDefault(&p.Slices, defaultSlicesTool)
		setDefault(&p.Slice, max(sliceTool, (tripsSlice*trip+sliceTool-1)/sliceTool*sliceTool))
	}
	setDefault(&p.Slices, choose(open || trip > slowTrip || p.Hosts.Used(), defaultSlicesOpen, defaultSlicesClosed))
	if !p.staged() {
		slice := choose(open, defaultSliceOpen, defaultSliceClosed)
		if p.Hosts.Used() {
			slice = max(slice, sliceHosts)
		}
		setDefault(&p.Slice, max(tripsSlice*trip, p.fewCalls(), cmp.Or(traits.slice, slice)))
	}
	setDefault(&p.WarmUp, max(tripsWarmUp*trip, defaultWarmUp))
	if len(p.Databases()) > 0 {
		setDefault(&p.Pool, wirelab.PoolSize)
	}
	setDefault(&p.Pin, PinAuto)
	setDefault(&p.Floor, traits.floor)
	setDefault(&p.Deadline, defaultDeadline)
	setDefault(&p.Practical, defaultPractical)
	setDefault(&p.Equivalent, defaultEquivalent)
	switch {
	case traits.primary != nil:
		setDefault(&p.Primary, traits.primary(p))
	case open && !p.tooled():
		setDefault(&p.Primary, ResponseP99)
	case open && p.unseen():
		setDefault(&p.Primary, ClientCPU)
	case p.unseen():
		// If a server runs elsewhere, only the driver's side can be measured.
		setDefault(&p.Primary, Throughput)
	default:
		setDefault(&p.Primary, ServerCPU)
	}
	if p.Seed == 0 {
		p.Seed = 1 + rand.Uint64N(seedLimit-1)
	}
	if err := p.checkTogether(); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// fewCalls is the shortest slice in which about three calls are due even at the lowest rate.
func (p Plan) fewCalls() (longest Duration) {
	const calls = 3
	for _, l := range p.Loads {
		if l.Rate > 0 && l.traits().calls {
			longest = max(longest, Duration(calls/l.Rate*float64(time.Second)))
		}
	}
	return min(longest, sliceMax)
}

// SliceOf is the length of one slice of a load: Slice, the sum of its stages, or its whole recording.
func (p Plan) SliceOf(l Load) Duration {
	if l.Replays() {
		return Duration(float64(len(l.Recording.Gaps)) / l.Rate * float64(time.Second))
	}
	if len(l.Stages) == 0 {
		return p.Slice
	}
	var sum Duration
	for _, s := range l.Stages {
		sum += s.For
	}
	return sum
}

// staged reports whether every load sets its own length, by stages or a recording. Slice is then unused.
func (p Plan) staged() bool {
	return len(p.Loads) > 0 &&
		!slices.ContainsFunc(p.Loads, func(l Load) bool { return len(l.Stages) == 0 && !l.Replays() })
}

// remote reports whether one of the servers was not started by wirelab.
func (p Plan) remote() bool {
	return slices.ContainsFunc(p.Arms, func(a Arm) bool { return a.Target != "" })
}

// unseen reports whether the resource use of one of the servers is unknown.
func (p Plan) unseen() bool {
	return slices.ContainsFunc(p.Arms, func(a Arm) bool { return !a.Seen() })
}

// checkSeen refuses a primary metric that cannot be measured for every arm.
func (p Plan) checkSeen(cpu, allocations string) error {
	switch {
	case p.Primary == cpu && slices.ContainsFunc(p.Arms, Arm.Direct):
		return bad("primary", p.Primary,
			"something that an arm without a server has too, such as "+Throughput+" or "+DatabaseCPU)
	case p.unseen() && p.Primary == cpu:
		return bad("primary", p.Primary,
			"something that can be measured from outside, since an arm has a target, which wirelab did not start; or give "+
				"its process: pid= with target=")
	case p.remote() && p.Primary == allocations:
		return bad("primary", p.Primary,
			"something that can be measured from outside, since an arm has a target, which wirelab did not start")
	}
	return nil
}

// complete fills in a missing bound: the usual one, or further if the given bound requires it.
func (r Rounds) complete() Rounds {
	switch {
	case r.Min == 0 && r.Max == 0:
		return Rounds{defaultRoundsMin, defaultRoundsMax}
	case r.Min == 0:
		return Rounds{min(defaultRoundsMin, r.Max), r.Max}
	case r.Max == 0:
		return Rounds{r.Min, max(defaultRoundsMax, r.Min)}
	}
	return r
}

// completeLoads returns the loads with their defaults.
func (p Plan) completeLoads() []Load {
	if len(p.Loads) == 0 {
		return []Load{{InFlight: 1}}
	}
	loads := slices.Clone(p.Loads)
	for i := range loads {
		l := &loads[i]
		l.Stages = cloned(l.Stages)
		traits := l.traits()
		if traits.held {
			continue
		}
		if traits.fill != nil {
			traits.fill(p, l)
		}
		if l.Open() {
			setDefault(&l.InFlight, defaultInFlightOpen)
			if law := p.toolLaw(); law != "" && l.Arrivals == "" && !l.Recording.Given() {
				l.Arrivals = law
			}
			l.completeArrivals()
		} else {
			setDefault(&l.InFlight, 1)
		}
	}
	return loads
}

// completeArrivals fills in how the calls of an open load arrive.
func (l *Load) completeArrivals() {
	if l.Recording.Given() {
		l.Recording.Gaps = slices.Clone(l.Recording.Gaps)
		setDefault(&l.Arrivals, Recorded)
		setDefault(&l.Rate, l.Recording.Rate())
		return
	}
	setDefault(&l.Arrivals, Poisson)
	if l.Arrivals == LogNormal {
		setDefault(&l.Spread, defaultSpread)
	}
}

// cloned copies a list. An empty list becomes nil, as it does when a stored plan is read.
func cloned[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}

// nameArms names arms without a name after their settings. Equal arms are allowed, because comparing an arm with
// itself shows which differences the machine can detect. From the second on they get a number.
func nameArms(arms []Arm) []Arm {
	arms = slices.Clone(arms)
	taken := make(map[string]bool, len(arms))
	for _, a := range arms {
		taken[a.Name] = true
	}
	for i := range arms {
		if arms[i].Name != "" {
			continue
		}
		text := arms[i].settings()
		name := text
		for n := 2; taken[name]; n++ {
			name = text + " #" + strconv.Itoa(n)
		}
		arms[i].Name = name
		taken[name] = true
	}
	return arms
}

// checkTogether checks what can only be checked once the plan is complete.
func (p Plan) checkTogether() error {
	if p.Rounds.Min > p.Rounds.Max {
		return bad("rounds.min", p.Rounds.Min, fmt.Sprintf("at most rounds.max, which is %d", p.Rounds.Max))
	}
	open := p.Loads[0].Open()
	for i, l := range p.Loads {
		if l.Open() != open {
			return bad(fmt.Sprintf("loads[%d]", i), l,
				"in_flight or rate as in loads[0]: a plan has closed loops or open ones, "+
					"since their slices, primary metric and meaning differ")
		}
		if slices.ContainsFunc(p.Loads[:i], func(earlier Load) bool { return p.same(earlier, l) }) {
			return bad(fmt.Sprintf("loads[%d]", i), l, "different from the loads before it")
		}
	}
	if open && p.Primary == Throughput {
		return bad("primary", p.Primary, "another metric in an open loop, where the plan itself sets the throughput")
	}
	if err := first(p.checkSeen(ServerCPU, ServerAllocations), p.checkKinds(), p.checkTools(),
		p.checkTrips(), p.checkHosts()); err != nil {
		return err
	}
	if err := first(p.checkCorner("explain.from", p.Explain.From),
		p.checkCorner("explain.to", p.Explain.To)); err != nil {
		return err
	}
	return p.checkPublishedOf()
}

// checkCorner checks that a corner names one of the arms.
func (p Plan) checkCorner(field, name string) error {
	if name == "" || slices.ContainsFunc(p.Arms, func(a Arm) bool { return a.Name == name || a.Protocol == name }) {
		return nil
	}
	return bad(field, name, "the name or the protocol of an arm")
}

// same reports whether two loads put the same demand on an arm.
func (p Plan) same(a, b Load) bool {
	return p.OperationOf(a) == p.OperationOf(b) && p.RequestsOf(a) == p.RequestsOf(b) &&
		a.Pace() == b.Pace() && a.InFlight == b.InFlight && a.Size == b.Size
}

// setDefault sets a field that was left at its zero value.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// choose returns a if first, else b.
func choose[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
