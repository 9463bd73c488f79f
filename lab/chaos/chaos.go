// Package chaos makes parts of the log pipeline fail while entries are sent
// through it at a constant rate, and accounts for every entry by its id: what
// its caller was told, and whether it is stored. It knows the pipeline's parts
// and how to end them, and the path by [wirelab.Cell] and the logger by
// [logging.Service] only: which wires lead there it is told.
//
// # What counts
//
// Whether an entry is stored only its store can tell: after the last fault the
// logger is asked for all it has, page by page. Journals tell when, to which the
// store's own time is the substitute, and what came twice; those of processes
// that were killed are gone, so that duplicates are "at least".
//
// Times count from when an entry was due, whether or not its sender was kept
// waiting by the ones before. A path is in its objective while the 99th
// percentile of every second is within the limit, and no call in it fails; it is
// back from when on that is so until the next fault begins, or the load ends. It
// is asked of responses, and of the time until accepted entries were stored.
//
// A second begins every 100 ms, so that times of recovery are as fine as that.
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

// The defaults of [Options].
const (
	DefaultInFlight = 128
	DefaultLimit    = 250 * time.Millisecond
	DefaultDeadline = 6 * time.Second // a second more than the gateway's: its word is to arrive
	DefaultPatience = 30 * time.Second
	leadMost        = 4 * time.Second
	pauseUsual      = 15 * time.Second
	pauseLeast      = 500 * time.Millisecond
	// pauseCalm is the pause after the last fault of a run that ends when all is
	// well: longer than a JetStream takes to give a killed listener's messages to
	// the next (5 s), which is part of what a fault does.
	pauseCalm = 8 * time.Second
)

// Options say what is tried.
type Options struct {
	// Stack is the pipeline, started for this run alone and stopped after it.
	Stack stack.Options
	// Path is the cell of a path through it, and Logger connects to the logger's
	// HTTP at host:port, to read what is stored.
	Path   wirelab.Cell
	Logger func(ctx context.Context, address string) (logging.Service, io.Closer, error)
	// Faults come one after the other, none where only the account is wanted.
	Faults []Fault
	// Rate is how many entries are sent per second. 0: half of what a first trial
	// in the closed loop shows can be sustained, to the moment of storage.
	Rate float64
	// Sustained is what an earlier run of the path could sustain, in place of a
	// trial. 0: none, and where Rate is given as much as that.
	Sustained float64
	// InFlight is the most calls under way; what is due beyond waits. Each takes
	// 1.3 MB. 0: [DefaultInFlight].
	InFlight int
	// For is the whole time of load. 0: as the faults need, with 15 s after each,
	// and after a burst as long as it takes to catch up at half of what can be
	// sustained, at most 90 s; after the last fault it is over sooner, once all
	// has been well again for some seconds.
	For      time.Duration
	Limit    time.Duration // of the objective; 0: [DefaultLimit]
	Every    time.Duration // between two rows of what callers saw, in steps of 100 ms; 0: 1 s
	Patience time.Duration // how long nothing is stored before what is open is missing; 0: [DefaultPatience]
	Seed     uint64        // of the entries' ids: a store that is used again needs another
	// Unpromised says that what is accepted is not confirmed by the broker, so
	// that what is missing breaks no word.
	Unpromised bool
	// Say is told how it goes, in words for a person; nil: nobody is.
	Say func(text string)
}

// Complete returns the options with their defaults, or InvalidArgument.
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
			"limit, patience, time and rate are not below 0, and the rate is no more than %g/s",
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

// layout says when each fault is to begin, from the beginning of the load, and
// how long the load lasts.
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
				"%v are too short for these faults: they take %v, each wants %v after it, and a tenth goes before all",
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

// Estimate is how long a run will take from start to stop, as it is where parts
// start soon and all is well again soon, and as it is where that takes longest.
// Options that are none take no time.
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

// Run starts a pipeline, lets it fail, and tells what became of every entry. When
// ctx ends it accounts for what was sent until then: the report then says that
// it was interrupted. An error comes with a report where anything was measured.
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

// run is one run under way.
type run struct {
	Options
	stack   *stack.Stack
	since   time.Time // nothing of this run was stored before
	journal journals

	client io.Closer
	calls  []load.Call
	last   []func() string // by caller: the id it sent last
	noted  [][]trace.Call  // by caller, who alone adds to its own

	sustained float64
	phases    []phase
	pulse     pulse
	over      atomic.Bool  // no entry is sent any more
	flying    atomic.Int64 // calls under way

	mu          sync.Mutex // guards fates
	entryStates map[string]*entryState
	deaths      []string
}

// phase is a fault that was made. Times are Unix nanoseconds.
type phase struct {
	Fault
	begun, ended int64 // 0: not
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
		return nil, errors.Join(driven, fmt.Errorf("what is stored: %w", err))
	}
	report, err = r.account(recording, found)
	if report != nil {
		report.Interrupted = interrupted
	}
	return report, errors.Join(driven, err)
}

// interruptedPatience is how long somebody who pressed Ctrl-C is kept waiting for
// what is on its way.
const interruptedPatience = 5 * time.Second

// part is a part's address behind a door.
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

// broker is the message broker that the path leads through; "" for none.
func (r *run) broker() string {
	name := strings.TrimSuffix(r.Path.Protocol.Name, stack.PublishedSuffix)
	for _, b := range r.Stack.Brokers {
		if strings.HasPrefix(name, stack.PathName(b.Kind, false)) {
			return b.Kind
		}
	}
	return ""
}
