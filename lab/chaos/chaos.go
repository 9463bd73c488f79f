// Package chaos makes components of the log pipeline fail while entries are sent through it at a constant rate, and
// accounts for every entry by its id: which reply its caller got, and whether it is stored. It knows the components of
// the pipeline and how to end them. It knows the path only as a [wirelab.Cell] and the logger only as a
// [logging.Service]. The caller chooses the wires to both.
//
// # What counts
//
// Only the store can tell whether an entry is stored: after the last fault the logger is asked for all entries, page by
// page. Journals tell when it was stored, and which entries arrived twice. If an event is missing in them, the store's
// own time is used. The journals of killed processes are lost, so that the number of duplicates is a lower bound.
//
// Times count from when an entry was due, even if earlier entries kept its sender waiting. A path meets its objective
// in a second if the 99th percentile of that second is within the limit and no call in it fails. It has recovered from
// the first second after which that stays true until the next fault begins, or the load ends. The objective applies to
// responses, and to the time until accepted entries are stored.
//
// A second begins every 100 ms, so recovery times have that resolution.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wirelab"
	"wirelab/lab/load"
	"wirelab/lab/trace"
	"wirelab/pipeline/stack"
	"wirelab/workload/logging"
)

// Defaults of [Options].
const (
	DefaultInFlight = 128
	DefaultLimit    = 250 * time.Millisecond
	DefaultDeadline = 6 * time.Second // a second more than the gateway's, so that the gateway's reply arrives
	DefaultPatience = 30 * time.Second
	leadMost        = 4 * time.Second
	pauseUsual      = 15 * time.Second
	pauseLeast      = 500 * time.Millisecond
	// pauseCalm is the pause after the last fault of a run that ends when all is well. It is longer than JetStream
	// takes to redeliver the messages of a killed listener (5 s), which is part of the fault's effect.
	pauseCalm = 8 * time.Second
)

// Options describe a run.
type Options struct {
	// Stack is the pipeline. It is started for this run alone and stopped after it.
	Stack stack.Options
	// Path is the cell of a path through the pipeline. Logger connects to the logger's HTTP interface at host:port, to
	// read which entries are stored.
	Path   wirelab.Cell
	Logger func(ctx context.Context, address string) (logging.Service, io.Closer, error)
	// Faults are made one after the other. There may be none if only the account is wanted.
	Faults []Fault
	// Rate is how many entries are sent per second. 0: half of the rate that a first trial in a closed loop sustains,
	// measured until all its entries are stored.
	Rate float64
	// Sustained is the rate that an earlier run of the path sustained, and replaces the trial. 0: it is unknown; if
	// Rate is given, that rate is used.
	Sustained float64
	// InFlight is the most calls in flight; an entry that is due beyond that waits. Each call takes 1.3 MB. 0:
	// [DefaultInFlight].
	InFlight int
	// For is how long entries are sent in all. 0: as long as the faults need, with 15 s after each. A burst gets as
	// long as it takes to catch up at half of the sustained rate, at most 90 s. After the last fault the load ends
	// earlier, once all has been well again for some seconds.
	For      time.Duration
	Limit    time.Duration // of the objective; 0: [DefaultLimit]
	Every    time.Duration // the length of a row of what callers saw, in steps of 100 ms; 0: 1 s
	Patience time.Duration // how long to wait for open entries while none is stored; 0: [DefaultPatience]
	Seed     uint64        // for the entries' ids: a store that is used again needs another seed
	// Unpromised is set if the broker does not confirm accepted entries, so that a missing entry breaks no promise.
	Unpromised bool
	// Say reports progress as text for a person. nil: no reports.
	Say func(text string)
}

// Complete returns the options with their defaults, or an error with code InvalidArgument.
func (o Options) Complete() (Options, error) {
	if o.InFlight == 0 {
		o.InFlight = DefaultInFlight
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	switch {
	case o.InFlight < 1 || o.InFlight > 4096:
		return o, wirelab.Errorf(wirelab.InvalidArgument, "%d calls in flight; want 1 to 4096", o.InFlight)
	case o.Limit < 0 || o.Patience < 0 || o.For < 0 || !(o.Rate >= 0 && o.Rate <= load.RateLimit/timesMax) ||
		!(o.Sustained >= 0 && o.Sustained <= load.RateLimit/timesMax):
		return o, wirelab.Errorf(wirelab.InvalidArgument,
			"limit, patience, time and rate must not be below 0, nor the rate above %g/s",
			load.RateLimit/timesMax)
	case o.Every < step || o.Every%step != 0:
		return o, wirelab.Errorf(wirelab.InvalidArgument, "a row every %v; want multiples of %v", o.Every, step)
	}
	for _, f := range o.Faults {
		if _, err := f.victim(o.Path.Protocol.Name, o.Stack.Brokers); err != nil {
			return o, err
		}
	}
	_, _, err := o.layout()
	return o, err
}

// layout returns when each fault begins, from the beginning of the load, and how long the load lasts.
func (o Options) layout() (at []time.Duration, whole time.Duration, err error) {
	needed := time.Duration(0)
	for _, f := range o.Faults {
		needed += f.allowance()
	}
	lead, pause := leadMost, pauseUsual
	if o.For > 0 {
		lead = min(leadMost, o.For/10)
		pause = (o.For - lead - needed) / time.Duration(max(1, len(o.Faults)))
		if pause < pauseLeast {
			return nil, 0, wirelab.Errorf(wirelab.InvalidArgument,
				"%v is too short for these faults: they take %v, each needs %v after it, and a tenth comes before them",
				o.For, needed, pauseLeast)
		}
	}
	whole = lead
	for _, f := range o.Faults {
		at = append(at, whole)
		whole += f.allowance() + pause
		if o.For == 0 {
			whole += f.aftermath()
		}
	}
	if o.For > 0 {
		whole = o.For // division leaves a few nanoseconds
	}
	if len(o.Faults) == 0 {
		whole = max(whole, lead+pause)
	}
	return at, whole, nil
}

// Estimate returns how long a run takes from start to stop: at least, if components start soon and recover soon, and at
// most. It returns zeros for invalid options.
func (o Options) Estimate() (least, most time.Duration) {
	_, whole, err := o.layout()
	if err != nil {
		return 0, 0
	}
	around := 3 * time.Second // start, stop and account
	for _, b := range o.Stack.Brokers {
		if b.Kind == stack.RabbitMQ && b.URL == "" {
			around += 6 * time.Second
		}
	}
	if o.Rate == 0 && o.Sustained == 0 {
		around += trialFor + time.Second
	}
	least = whole
	if n := len(o.Faults); n > 0 && o.For == 0 {
		least -= o.Faults[n-1].aftermath() + pauseUsual - pauseCalm
	}
	return around + least, around + whole
}

// Run starts a pipeline, makes the faults, and reports what became of every entry. If ctx is done it accounts for the
// entries sent so far, and the report says that it was interrupted. If anything was measured, a report is returned with
// the error too.
func Run(ctx context.Context, o Options) (*Report, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	s, err := stack.Start(ctx, o.Stack)
	if err != nil {
		return nil, err
	}
	r := &run{
		Options: o, stack: s, since: began.Add(-time.Second), entryStates: map[string]*entryState{},
		pulse: pulse{limit: int64(o.Limit)},
	}
	report, err := r.run(ctx)
	return report, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
}

// run is the state of one run.
type run struct {
	Options
	stack   *stack.Stack
	since   time.Time // nothing of this run was stored before it
	journal journals

	client io.Closer
	calls  []load.Call
	last   []func() string // by caller: the id it sent last
	noted  [][]trace.Call  // by caller; each appends to its own slice only

	sustained float64
	phases    []phase
	pulse     pulse
	over      atomic.Bool  // no more entries are sent
	flying    atomic.Int64 // calls in flight

	mu          sync.Mutex // guards fates
	entryStates map[string]*entryState
	deaths      []string
}

// phase is a fault that was made. Times are in Unix nanoseconds.
type phase struct {
	Fault
	begun, ended int64 // 0: not yet
}

func (r *run) run(ctx context.Context) (report *Report, err error) {
	if err := r.dial(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.client.Close()) }()
	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	r.journal.open(r.stack)
	following.Go(func() { r.follow(follow) })
	defer following.Wait()
	defer stop()

	switch {
	case r.Sustained > 0:
		r.sustained = r.Sustained
		if r.Rate == 0 {
			r.Rate = max(rateLeast, r.sustained*trialShare)
		}
	case r.Rate > 0:
		r.sustained = r.Rate
	default:
		if err := r.trial(ctx); err != nil {
			return nil, err
		}
	}
	recording, driven := r.drive(ctx)
	if recording == nil {
		return nil, driven
	}
	interrupted := ctx.Err() != nil
	after := context.WithoutCancel(ctx)
	patience := r.Patience
	if interrupted {
		driven, patience = nil, min(patience, interruptedPatience)
	}
	found, err := r.settle(after, patience)
	stop()
	following.Wait()
	if err != nil {
		return nil, errors.Join(driven, fmt.Errorf("read which entries are stored: %w", err))
	}
	report, err = r.account(recording, found)
	if report != nil {
		report.Interrupted = interrupted
	}
	return report, errors.Join(driven, err)
}

// interruptedPatience limits how long a user who pressed Ctrl-C waits for entries on their way.
const interruptedPatience = 5 * time.Second

// part returns the address of one listener of a component.
func (r *run) part(name, endpoint string) (string, error) {
	p, err := r.stack.Part(name)
	return p.Endpoints[endpoint], err
}

// dial connects to the gateway.
func (r *run) dial(ctx context.Context) error {
	address, err := r.part(stack.GatewayPart, stack.EndpointHTTP)
	if err != nil {
		return err
	}
	client, err := r.Path.Dial(ctx, wirelab.Dialing{Address: address, Connections: r.InFlight})
	if err != nil {
		return err
	}
	r.client = client
	seeds := rand.New(rand.NewPCG(r.Seed, 0x6368616f73)) // the second word only separates this use of the seed
	for range r.InFlight {
		call, last, err := client.Follow("WriteLog", logging.Published, seeds.Uint64())
		if err != nil {
			return errors.Join(err, client.Close())
		}
		r.calls, r.last, r.noted = append(r.calls, r.counted(call)), append(r.last, last), append(r.noted, nil)
	}
	return nil
}

// broker returns the kind of message broker on the path; "" for none.
func (r *run) broker() string {
	name := strings.TrimSuffix(r.Path.Protocol.Name, stack.PublishedSuffix)
	for _, b := range r.Stack.Brokers {
		if strings.HasPrefix(name, stack.PathName(b.Kind, false)) {
			return b.Kind
		}
	}
	return ""
}
