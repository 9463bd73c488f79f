// Command brokerbench sets Hermes beside the brokers that people know, each of
// three nodes on this machine, in turns within one run: messages a second on a
// stream that is kept full, with callers that wait for each acknowledgement, and
// the time from a message's due time until a subscriber has it. It starts every
// broker itself, NATS from its Go module and RabbitMQ from the system's package,
// and decides nothing about them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	natsserver "wirelab/system/nats/server"
)

// nodes is how many each broker has.
const nodes = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case isNATSChild(os.Getenv):
		err = natsserver.Serve(ctx, os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	case isFloorChild(os.Getenv):
		err = serveFloor(ctx, os.Stdin, os.Stdout)
	default:
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "brokerbench:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop: run did
	}
}

// options are the flags.
type options struct {
	hermes  string
	brokers []string
	shapes  []string
	rounds  int
	window  window
	perSec  int
	trial   bool
	seed    uint64
	json    bool
	scale   scale
	profile string // directory; "": none
}

// known are the brokers, Hermes first, which the others are set beside.
var known = []string{"hermes", "nats-always", "nats-default", "rabbitmq", floorName}

// The shapes that are about size.
const (
	backlogShape = "backlog"
	topicsShape  = "topics-10000"
	slowShape    = "slow-disk"
)

// shape is what is measured.
type shape struct {
	name    string
	size    int // bytes of a payload
	callers int // 0: a stream
	perSec  int // not 0: end to end, at this rate
	// only are the brokers that it is measured with; nil: all. Such a shape takes long, has
	// several figures, and is measured when it is asked for.
	only []string
}

// takes tells whether a shape is measured with a rival. grpc-go alone has callers only.
func (s shape) takes(r rival) bool {
	if r.Name() == floorName {
		return s.callers > 0
	}
	return s.only == nil || slices.Contains(s.only, r.Name())
}

func shapes(perSec int) []shape {
	return []shape{
		{name: "stream-100", size: 100},
		{name: "stream-1024", size: 1024},
		{name: "callers-60", size: 100, callers: 60},
		{name: "callers-150", size: 100, callers: 150},
		{name: "end-to-end", size: 100, perSec: perSec},
		{name: backlogShape, size: 100, only: []string{"hermes", "nats-always", "nats-default"}},
		{name: topicsShape, size: 100, only: known[:1]},
		{name: slowShape, size: 100, only: known[:1]},
	}
}

func parse(args []string, complaints io.Writer) (o options, err error) {
	f := flag.NewFlagSet("brokerbench", flag.ContinueOnError)
	f.SetOutput(complaints)
	f.Usage = func() {
		fmt.Fprint(complaints, "Sets Hermes beside NATS JetStream and RabbitMQ, three nodes each.\n\n"+
			"  go run ./internal/brokerbench -hermes bin/hermes -rounds 5\n"+
			"  go run ./internal/brokerbench -shapes stream-100 -brokers hermes,nats-always -rounds 2 -json\n"+
			"  go run ./internal/brokerbench -shapes backlog,topics-10000,slow-disk -brokers hermes -rounds 1\n\n")
		f.PrintDefaults()
	}
	var brokers, what string
	var all, usual []string
	for _, s := range shapes(0) {
		all = append(all, s.name)
		if s.only == nil {
			usual = append(usual, s.name)
		}
	}
	f.StringVar(&o.hermes, "hermes", "bin/hermes", "the `program` that is Hermes")
	f.StringVar(&brokers, "brokers", strings.Join(known, ","), "which to measure")
	f.StringVar(&what, "shapes", strings.Join(usual, ","), "what to measure; there are also backlog (Hermes and NATS), topics-10000 and slow-disk (Hermes), which take long")
	f.IntVar(&o.rounds, "rounds", 5, "rounds, each with all brokers in another order; intervals need 2, and say something from 5 on")
	f.DurationVar(&o.window.length, "window", 4*time.Second, "how long each is measured")
	f.DurationVar(&o.window.warm, "warm", time.Second, "how long each runs before")
	f.IntVar(&o.perSec, "rate", 1000, "messages a second, end to end")
	f.IntVar(&o.scale.backlog, "backlog", 10_000_000, "messages of the backlog")
	f.IntVar(&o.scale.pace, "backlog-rate", 20_000, "messages a second that are published while the backlog is read")
	f.IntVar(&o.scale.topics, "topics", 10_000, "topics of topics-10000")
	f.DurationVar(&o.scale.slow, "slow", 20*time.Millisecond, "how much longer each sync of the slow disk takes")
	f.BoolVar(&o.trial, "trial", true, "first try several windows and connections with each broker, and take its best")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the payloads and the order")
	f.StringVar(&o.profile, "profile", "", "a `directory` for CPU profiles of this process and of each node of Hermes, of the first round of each shape; they cost some of what they show")
	f.BoolVar(&o.json, "json", false, "print JSON")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.brokers, o.shapes = strings.Split(brokers, ","), strings.Split(what, ",")
	for _, one := range []struct {
		what         string
		given, known []string
	}{{"broker", o.brokers, known}, {"shape", o.shapes, all}} {
		for _, name := range one.given {
			if !slices.Contains(one.known, name) {
				return o, fmt.Errorf("%s %q is not known; known are %s", one.what, name, strings.Join(one.known, ", "))
			}
		}
	}
	if o.rounds < 1 || o.window.length <= 0 || o.window.warm < 0 || o.perSec < 1 || o.perSec > 1_000_000 {
		return o, errors.New("rounds must be at least 1, window more than 0, warm not negative and rate from 1 to 1,000,000")
	}
	if o.scale.backlog < 1 || o.scale.pace < 0 || o.scale.topics < 1 || o.scale.slow <= 0 {
		return o, errors.New("backlog and topics must be at least 1, backlog-rate not negative and slow more than 0")
	}
	return o, nil
}

func run(ctx context.Context, args []string, output, progress io.Writer) (err error) {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	// Less of what is measured is this process's collecting garbage, whoever the broker is.
	debug.SetGCPercent(400)
	b := &bench{options: o, progress: progress, found: map[string]map[string][]outcome{}, best: map[string]setting{}}
	defer func() { err = errors.Join(err, b.stop(context.WithoutCancel(ctx))) }()
	if err := b.start(ctx); err != nil {
		return err
	}
	broke := b.measure(ctx)
	if b.rounds = b.whole(); b.rounds == 0 && broke != nil {
		return broke
	}
	// What was measured until Ctrl-C is kept.
	if o.json {
		err = json.NewEncoder(output).Encode(b.report())
	} else {
		err = b.table(output)
	}
	if ctx.Err() != nil {
		broke = fmt.Errorf("interrupted after %d whole rounds", b.rounds)
	}
	return errors.Join(err, broke)
}

// bench is a run.
type bench struct {
	options
	progress io.Writer
	rivals   []rival
	best     map[string]setting              // of a rival
	found    map[string]map[string][]outcome // by shape and rival, a round each
}

func (b *bench) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range b.brokers {
		fmt.Fprintf(b.progress, "start %s\n", name)
		var r rival
		switch name {
		case "hermes":
			r, err = startHermes(ctx, b.hermes, b.profile != "")
		case "nats-always":
			r, err = startNATS(ctx, self, 0)
		case "nats-default":
			r, err = startNATS(ctx, self, natsSync)
		case "rabbitmq":
			r, err = startRabbitMQ(ctx)
		case floorName:
			r, err = startFloor(ctx, self)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.rivals = append(b.rivals, r)
	}
	return nil
}

func (b *bench) stop(ctx context.Context) error {
	var failed error
	for _, r := range b.rivals {
		failed = errors.Join(failed, r.Stop(ctx))
	}
	return failed
}

// measure runs all rounds.
func (b *bench) measure(ctx context.Context) error {
	for _, r := range b.rivals {
		if err := b.find(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.Name(), err)
		}
	}
	order := rand.New(rand.NewPCG(b.seed, 0))
	for round := range b.rounds {
		for _, s := range shapes(b.perSec) {
			if !slices.Contains(b.shapes, s.name) {
				continue
			}
			for _, i := range order.Perm(len(b.rivals)) {
				r := b.rivals[i]
				if !s.takes(r) {
					continue
				}
				one, err := b.profiled(ctx, r, s, round, func() (outcome, error) {
					return b.one(ctx, r, s, b.window, uint64(round)+b.seed)
				})
				if err != nil {
					return fmt.Errorf("round %d, %s, %s: %w", round+1, s.name, r.Name(), err)
				}
				if b.found[s.name] == nil {
					b.found[s.name] = map[string][]outcome{}
				}
				b.found[s.name][r.Name()] = append(b.found[s.name][r.Name()], one)
				fmt.Fprintf(b.progress, "round %d of %d, %s, %s: %s\n", round+1, b.rounds, s.name, r.Name(), one)
			}
		}
	}
	return nil
}

// whole is how many rounds have all of their measurements.
func (b *bench) whole() int {
	n := b.rounds
	for _, s := range shapes(b.perSec) {
		for _, r := range b.rivals {
			if slices.Contains(b.shapes, s.name) && s.takes(r) {
				n = min(n, len(b.found[s.name][r.Name()]))
			}
		}
	}
	for _, by := range b.found {
		for name := range by {
			by[name] = by[name][:n]
		}
	}
	return n
}

// find tries the candidates with a rival and remembers its best.
func (b *bench) find(ctx context.Context, r rival) error {
	all := candidates()
	b.best[r.Name()] = all[1]
	if !b.trial || r.Name() == floorName {
		return nil
	}
	most := 0.0
	for _, s := range all {
		t, err := r.Topic(ctx)
		if err != nil {
			return err
		}
		one, err := pipelined(ctx, t, s, 100, window{warm: time.Second, length: 2 * time.Second}, nil, b.seed)
		if err := errors.Join(err, t.Remove(ctx)); err != nil {
			return err
		}
		fmt.Fprintf(b.progress, "trial of %s with %d connections, %d outstanding: %.0f/s\n", r.Name(), s.Connections, s.Window, one.Rate)
		if one.Rate > most {
			most, b.best[r.Name()] = one.Rate, s
		}
	}
	return nil
}

// one is one measurement, of a topic of its own.
func (b *bench) one(ctx context.Context, r rival, s shape, w window, seed uint64) (one outcome, err error) {
	t, err := r.Topic(ctx)
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, t.Remove(context.WithoutCancel(ctx))) }()
	best := b.best[r.Name()]
	switch {
	case s.name == backlogShape:
		return b.backlog(ctx, r, t, best, s.size, seed)
	case s.name == topicsShape:
		return b.topics(ctx, r, t, best, s.size, w, seed)
	case s.name == slowShape:
		return b.slowDisk(ctx, r, t, best, s.size, w, seed)
	case s.perSec > 0:
		return endToEnd(ctx, t, setting{Connections: 1, Window: 1000}, s.perSec, s.size, w, seed)
	case s.callers > 0:
		return callers(ctx, t, s.callers, s.size, w, meterOf(r), seed)
	}
	return pipelined(ctx, t, best, s.size, w, meterOf(r), seed)
}
