// Command queuebench sets the AMQP path beside the most that RabbitMQ gives a
// driver of our own that does nothing else, as PerfTest does: entries a second
// through the same kind of queue of the same server, in turns, and the CPU time
// that each part of the way takes. It knows RabbitMQ and the pipeline's parts,
// and decides nothing about them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"wirelab/queue"
	"wirelab/queue/amqp"
	"wirelab/system/postgres"
	"wirelab/system/rabbitmq"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "queuebench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	wirelab   string
	kinds     []string
	subjects  []string
	databases []string
	callers   int
	room      int
	prefetch  int
	window    time.Duration
	warm      time.Duration
	bound     int
	data      int
	rounds    int
	trial     bool
	seed      uint64
	json      bool
}

// help is what is said before the flags.
const help = `queuebench measures, on one private RabbitMQ and in random order, entries a second that are
delivered and acknowledged (raw, room) or stored (log-rabbit, log-rabbit-direct), always with
confirms, persistent messages, manual acknowledgements and the same message:

  raw                publishers and consumers directly on the AMQP library, as PerfTest drives RabbitMQ;
                     the best of a few settings that a trial finds
  room               wirelab's package queue/amqp: callers of Publish, a consumer's handlers
  log-rabbit         HTTP callers, gateway, RabbitMQ, listener, gRPC, logger, database
  log-rabbit-direct  HTTP callers, gateway, RabbitMQ, listener, database
  http               HTTP callers and the gateway alone: what their part of a path is; it stores nothing

No more than -bound entries are ever under way, so that what goes in comes out and no backlog
hides what does not. "/ raw" is the mean ratio to raw of the same kind and round, with its 95 % interval.

`

func run(ctx context.Context, args []string, stdout, progress io.Writer) (err error) {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	b := &bench{options: o, progress: progress, found: map[string][]outcome{}, raw: map[string]rawSettings{}}
	if b.files, err = os.MkdirTemp("", "queuebench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.files)) }()
	if b.server, err = rabbitmq.Start(ctx, rabbitmq.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.server.Stop(context.WithoutCancel(ctx))) }()
	if slices.ContainsFunc(o.subjects, stores) && slices.Contains(o.databases, "postgres") {
		if b.database, err = postgres.Start(ctx, postgres.Options{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.database.Stop(context.WithoutCancel(ctx))) }()
	}
	if b.control, err = amqp.Open(ctx, b.server.URL()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.control.Close()) }()
	if err := b.all(ctx); err != nil {
		return err
	}
	if o.json {
		return b.writeJSON(stdout)
	}
	return b.print(stdout)
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("queuebench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, help)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.wirelab, "wirelab", "bin/wirelab", "the program that the pipeline's parts are")
	kinds := flags.String("kinds", "quorum classic", "queues, with spaces between them")
	subjects := flags.String("subjects", "raw room log-rabbit-direct log-rabbit http", "what is measured, raw among it")
	databases := flags.String("databases", "postgres embedded", "where the paths store")
	flags.IntVar(&o.callers, "callers", 256, "HTTP calls in flight, of the paths")
	flags.IntVar(&o.room, "publishes", 1024, "calls of Publish in flight, of the room")
	flags.IntVar(&o.prefetch, "prefetch", 0, "messages with a consumer at once, of the room and the paths; 0: as the pipeline has it")
	flags.DurationVar(&o.window, "window", 5*time.Second, "length of each measurement")
	flags.DurationVar(&o.warm, "warm", 2*time.Second, "before each")
	flags.IntVar(&o.bound, "bound", 5000, "entries under way at most: taken, but not yet out")
	flags.IntVar(&o.data, "data", 100, "bytes of an entry's data")
	flags.IntVar(&o.rounds, "rounds", 10, "how often each is measured")
	flags.BoolVar(&o.trial, "trial", true, "look for raw's best settings first")
	flags.Uint64Var(&o.seed, "seed", 1, "of the order")
	flags.BoolVar(&o.json, "json", false, "write all of it as JSON")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.kinds, o.subjects, o.databases = strings.Fields(*kinds), strings.Fields(*subjects), strings.Fields(*databases)
	var err error
	if o.wirelab, err = filepath.Abs(o.wirelab); err != nil {
		return o, err
	}
	return o, o.check()
}

func (o options) check() error {
	for _, list := range []struct{ given, known []string }{
		{o.kinds, []string{string(queue.Quorum), string(queue.Classic)}},
		{o.subjects, []string{subjectRaw, subjectRoom, subjectDirect, subjectLogger, subjectHTTP}},
		{o.databases, []string{"postgres", "embedded"}},
	} {
		for _, name := range list.given {
			if !slices.Contains(list.known, name) {
				return fmt.Errorf("%q is none of %s", name, strings.Join(list.known, ", "))
			}
		}
	}
	switch {
	case len(o.kinds) == 0, !slices.Contains(o.subjects, subjectRaw):
		return errors.New("want a kind of queue, and raw among the subjects")
	case slices.ContainsFunc(o.subjects, stores) && len(o.databases) == 0:
		return errors.New("want a database for the paths")
	case o.rounds < 2, o.window < time.Second, o.callers < 1, o.room < 1, o.bound < 1, o.data < 0:
		return errors.New("want 2 rounds, windows of a second, a caller and an entry under way at least")
	}
	return nil
}

// What is measured.
const (
	subjectRaw    = "raw"
	subjectRoom   = "room"
	subjectDirect = "log-rabbit-direct"
	subjectLogger = "log-rabbit"
	subjectHTTP   = "http"
)

// stores reports whether a subject needs a database.
func stores(subject string) bool { return subject == subjectDirect || subject == subjectLogger }

// bench measures everything in turns against one server.
type bench struct {
	options
	server   *rabbitmq.Server
	database *postgres.Server // nil: nobody needs it
	control  *amqp.Broker
	files    string
	progress io.Writer
	queues   int                    // made so far; each measurement has one of its own
	raw      map[string]rawSettings // by kind, found by the trial
	found    map[string][]outcome   // by cell, a value for each round
}

// cell is one line of the table.
type cell struct {
	kind, subject, database string
}

func (c cell) name() string {
	return strings.TrimSpace(c.kind + " " + c.subject + " " + c.database)
}

// cells are the lines, in their order.
func (o options) cells() []cell {
	var all []cell
	for _, kind := range o.kinds {
		for _, subject := range o.subjects {
			switch {
			case subject == subjectHTTP:
			case stores(subject):
				for _, database := range o.databases {
					all = append(all, cell{kind, subject, database})
				}
			default:
				all = append(all, cell{kind, subject, ""})
			}
		}
	}
	if slices.Contains(o.subjects, subjectHTTP) {
		all = append(all, cell{"", subjectHTTP, ""}) // it has no queue
	}
	return all
}

// all measures everything in every round, in random order.
func (b *bench) all(ctx context.Context) error {
	for _, kind := range b.kinds {
		best, err := b.find(ctx, kind)
		if err != nil {
			return fmt.Errorf("%s raw: %w", kind, err)
		}
		b.raw[kind] = best
	}
	random := rand.New(rand.NewPCG(b.seed, 0x7175))
	order := b.cells()
	for round := range b.rounds {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, c := range order {
			one, err := b.measure(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name(), err)
			}
			b.found[c.name()] = append(b.found[c.name()], one)
			fmt.Fprintf(b.progress, "round %d of %d: %s %.0f/s\n", round+1, b.rounds, c.name(), one.Rate)
		}
	}
	return nil
}

func (b *bench) measure(ctx context.Context, c cell) (outcome, error) {
	switch c.subject {
	case subjectRaw:
		return b.measureRaw(ctx, queue.Kind(c.kind), b.raw[c.kind], b.warm, b.window)
	case subjectRoom:
		return b.measureRoom(ctx, queue.Kind(c.kind))
	}
	return b.measurePath(ctx, c)
}

// fresh makes a queue that nobody used, and returns how to remove it.
func (b *bench) fresh(ctx context.Context, kind queue.Kind) (queue.Options, func() error, error) {
	b.queues++
	o := queue.Options{
		Name: fmt.Sprintf("bench-%d", b.queues), Kind: kind, Confirms: true, Persistent: true, Prefetch: b.prefetch,
	}
	remove := func() error { return b.control.Delete(context.WithoutCancel(ctx), o) }
	return o, remove, b.control.Declare(ctx, o)
}
