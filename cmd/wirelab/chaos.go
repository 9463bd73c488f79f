package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/chaos"
	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/probe"
	"wirelab/pipeline/stack"
	"wirelab/pipeline/trouble"
	"wirelab/queue"
	"wirelab/results/outages"
	"wirelab/results/report"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// chaosFlags are what is typed after "wirelab chaos logging".
type chaosFlags struct {
	faults                []string
	rate, slo, queue      string
	whole, every          time.Duration
	patience              time.Duration
	inFlight              int
	seed                  uint64
	noConfirms, transient bool
	topology              bool
	asJSON, quiet         bool
	database              databases.Choice
}

// rateAuto is the --rate that a trial is to find.
const rateAuto = "auto"

func newChaosCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:     "chaos",
		Short:   "Make parts of a pipeline fail, and count what is lost",
		Long:    "Chaos starts services that work together, makes them fail under load, and counts what is lost.",
		Example: `  wirelab chaos logging log-rabbit --fault all`,
	})
	c.AddCommand(newChaosLoggingCommand(a))
	return c
}

func newChaosLoggingCommand(a *app) *cobra.Command {
	var f chaosFlags
	c := &cobra.Command{
		Use:   "logging [PATH…]",
		Short: "Make parts of the log pipeline fail, and count what is lost",
		Long: `Logging starts a new log pipeline for each path and each fault. It sends entries
to the gateway at a constant rate, makes a part fail, and waits until no more
entries are stored. Then it compares by id what each caller was told with what
the logger has stored. At the start it says how long this will take.

Paths are those of "up logging". Without PATH: log-grpc, and log-rabbit, log-nats
and log-hermes if their brokers are here. The faults are:

  logger-down=10s   the logger is stopped, and started again after 10 s
  listener-kill     the listener is killed (kill -9), and started again at once
  broker-restart    RabbitMQ, NATS or Hermes is killed, and started again at once
  burst=10x5s       for 5 s, 10 times the entries that the path can sustain

Each --fault is one run. Faults joined with + are one run, and so is "all". A path
without a broker has no listener and no broker that could fail.

The report says how long it took until the path kept its objective again: the
99th percentile of every second is within --slo, and no call fails. It counts from
the beginning and the end of the fault, for responses and for stored entries.

--rate auto measures for two seconds what the path can sustain, and sends half of
that. A burst is a multiple of the sustained rate, or of --rate. Without --for, a
run ends when everything has worked again for some seconds.

Exit code 0: no entry is missing that the logger or the broker had promised to
keep; 1: one is missing, or stored twice; 3: the run was interrupted, or the
broker of a path that you named is not installed.`,
		Example: `  wirelab chaos logging
  wirelab chaos logging log-rabbit log-grpc --fault logger-down=10s --rate 500/s
  wirelab chaos logging log-rabbit --fault all --rate 1200/s --for 80s
  wirelab chaos logging log-nats --fault listener-kill+broker-restart --json`,
		RunE: func(c *cobra.Command, args []string) error { return a.chaosLogging(c.Context(), args, f) },
	}
	f.register(c.Flags())
	return c
}

func (f *chaosFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.faults, "fault", nil, "`fault` of a run: logger-down=10s, listener-kill, broker-restart, burst=10x5s, several joined with +, or all (default: one run for each)")
	flags.StringVar(&f.rate, "rate", rateAuto, "`entries` per second, such as 500/s, or auto")
	flags.DurationVar(&f.whole, "for", 0, "how long entries are sent in each run (default: until everything works again after the fault, at most 15s, or 90s after a burst)")
	flags.StringVar(&f.slo, "slo", "p99<"+chaos.DefaultLimit.String(), "the `objective`: a limit for the 99th percentile")
	flags.DurationVar(&f.every, "every", 0, "`time` between two rows of the report, in steps of 100ms (default 1s)")
	flags.DurationVar(&f.patience, "patience", chaos.DefaultPatience, "if nothing more is stored for so long, accepted entries that are not there count as missing")
	flags.IntVar(&f.inFlight, "in-flight", chaos.DefaultInFlight, "most calls in flight; further calls wait, and this time counts")
	flags.StringVar(&f.queue, "queue", "", "`kind` of RabbitMQ's queue: quorum or classic (default quorum)")
	flags.BoolVar(&f.noConfirms, "no-confirms", false, "let the gateway reply before the broker has confirmed the entry")
	flags.BoolVar(&f.topology, "published-topology", false, topologyHelp)
	flags.BoolVar(&f.transient, "transient", false, "let the broker keep entries in memory, if its queue can")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of the entries (default: random)")
	flags.BoolVar(&f.asJSON, "json", false, "print all runs as JSON, for programs")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	registerDatabase(&f.database, flags)
}

// chaosLogging makes the runs, one after the other.
func (a *app) chaosLogging(ctx context.Context, paths []string, f chaosFlags) error {
	runs, err := a.chaosRuns(ctx, paths, f)
	if err != nil {
		return err
	}
	a.sayAbsent(runs, f.quiet)
	var failed []error
	for i := range runs {
		r := &runs[i]
		switch {
		case r.Absent != "":
		case ctx.Err() != nil:
			r.Failed = outages.NotRun
		default:
			if !f.quiet {
				done, all := outages.Possible(runs[:i]), outages.Possible(runs)
				a.Note("run %d of %d: %s, %s; %s to go", done+1, all, r.Path, r.Faults, outages.Estimate(runs[i:]))
			}
			running := a.Doing(fmt.Sprintf("run %d of %d: %s, %s", outages.Possible(runs[:i])+1, outages.Possible(runs), r.Path, r.Faults))
			r.Report, err = chaos.Run(ctx, r.Options)
			running.Done()
			if err != nil && ctx.Err() == nil {
				r.Failed = describe(err)
				failed = append(failed, fmt.Errorf("%s, %s: %w", r.Path, r.Faults, err))
			}
			if r.Report == nil && ctx.Err() != nil {
				r.Failed = outages.NotRun
			}
			outages.Agree(runs[i+1:], r)
		}
		if !f.asJSON {
			if err := outages.Print(a, *r); err != nil {
				return err
			}
		}
	}
	if f.asJSON {
		if err := a.PrintJSON(runs); err != nil {
			return err
		}
	}
	return concludeChaos(ctx, runs, failed)
}

// sayAbsent says once of each path that cannot be had that it cannot.
func (a *app) sayAbsent(runs []outages.Run, quiet bool) {
	for i, r := range runs {
		if !quiet && r.Wanting && (i == 0 || runs[i-1].Path != r.Path) {
			a.Note("%s is absent: %s; going on with the others", r.Path, r.Absent)
		}
	}
}

// concludeChaos is the exit code: what is lost is lost, whatever else went wrong.
func concludeChaos(ctx context.Context, runs []outages.Run, failed []error) error {
	for _, r := range runs {
		if r.Report != nil && r.Report.Broken() > 0 && !r.Report.Interrupted {
			failed = append(failed, wirelab.Errorf(wirelab.Internal, "%s, %s: %d entries that were accepted are missing, and %d are stored twice",
				r.Path, r.Faults, r.Report.Account.Missing, r.Report.Account.Twice))
		}
	}
	switch {
	case len(failed) > 0:
		return cli.With(exitFailed, errors.Join(failed...))
	case ctx.Err() != nil:
		return cli.With(exitNoWord, errors.New("interrupted; what was measured until then is above"))
	}
	for _, r := range runs {
		if r.Wanting {
			return cli.With(exitNoWord, fmt.Errorf("%s is absent: %s", r.Path, r.Absent))
		}
	}
	return nil
}

// chaosRuns are the runs that are asked for. A path that cannot be had is one
// that says so, unless it alone was asked for.
func (a *app) chaosRuns(ctx context.Context, paths []string, f chaosFlags) ([]outages.Run, error) {
	base, err := f.options()
	if err != nil {
		return nil, err
	}
	faults, err := f.runs()
	if err != nil {
		return nil, err
	}
	named := len(paths) > 0
	if !named {
		paths = []string{"log-grpc"}
		for _, kind := range stack.Brokers() {
			paths = append(paths, stack.PathName(kind, false))
		}
	}
	if base.Stack.Program, err = experiment.Program(); err != nil {
		return nil, err
	}
	base.Stack.Getenv, base.Logger = a.Getenv, dialLogger
	base.Stack.Stderr, base.Stack.Faults = &trouble.Together{To: a.Stderr}, true // what is ended here is no news
	if !f.quiet {
		base.Say = func(text string) { a.Note("  %s", text) }
	}
	var runs []outages.Run
	machine, made := report.Machine(probe.Environment()), strings.TrimSpace(cli.ThisBuild().Version+" "+cli.ThisBuild().Commit)
	for _, path := range paths {
		one, err := a.chaosPath(base, path, f)
		if err != nil {
			return nil, err
		}
		absent, err := a.chaosAbsent(ctx, one.Stack.Brokers)
		if err != nil {
			return nil, err
		}
		for _, group := range faults {
			r := outages.Run{Path: path, Faults: outages.FaultsText(group), Options: one, Absent: absent, Handover: stack.HandoverOf(one.Stack.Brokers), Machine: machine, Wirelab: made, Wanting: named && absent != ""}
			r.Options.Faults, r.LeftOut = chaos.Without(path, one.Stack.Brokers, group)
			if len(r.Options.Faults) == 0 && r.Absent == "" {
				r.Absent, r.LeftOut = strings.Join(r.LeftOut, "; "), nil
			}
			r.Options.Seed += uint64(len(runs)) // so that no id comes twice in one store
			if r.Absent == "" {
				if _, err := r.Options.Complete(); err != nil {
					return nil, err
				}
			}
			runs = append(runs, r)
		}
	}
	return runs, a.chaosDatabase(ctx, f, runs)
}

// published refuses --published-topology of a path that has none: nothing would come of it.
func (f *chaosFlags) published(path string, brokers []stack.Broker) error {
	has := func(b stack.Broker) bool { return b.PublishedTopology && !b.Direct }
	if f.topology && !slices.ContainsFunc(brokers, has) {
		return cli.Usage("--published-topology is RabbitMQ's with a listener, and %s does not go that way; leave it out, or name log-rabbit alone", path)
	}
	return nil
}

// chaosPath are the options of a path's runs, but for faults and database.
func (a *app) chaosPath(one chaos.Options, path string, f chaosFlags) (chaos.Options, error) {
	var err error
	if one.Path, err = a.Cell("logging", path, "", ""); err != nil {
		return one, err
	}
	if !one.Path.Protocol.Pipeline {
		return one, cli.Usage("%s is no path through the pipeline; paths are such as log-grpc and log-rabbit", path)
	}
	one.Stack.Brokers = a.chaosBroker(path, f)
	if err := f.published(path, one.Stack.Brokers); err != nil {
		return one, err
	}
	for _, b := range one.Stack.Brokers {
		one.Unpromised = one.Unpromised || b.PublishedTopology
	}
	one.Stack.Published = strings.HasSuffix(path, stack.PublishedSuffix)
	return one, nil
}

// options are those that flags alone make.
func (f *chaosFlags) options() (chaos.Options, error) {
	o := chaos.Options{For: f.whole, Every: f.every, Patience: f.patience, InFlight: f.inFlight, Seed: cmp.Or(f.seed, rand.Uint64()), Unpromised: f.noConfirms}
	var err error
	if f.rate != rateAuto {
		if o.Rate, err = plan.ParseRate(f.rate); err != nil {
			return o, err
		}
	}
	if f.topology && f.queue != "" {
		return o, cli.Usage("--published-topology has a queue of its own for each listener; leave --queue out")
	}
	limit, err := time.ParseDuration(strings.TrimPrefix(f.slo, "p99<"))
	if err != nil || limit <= 0 {
		return o, cli.Usage("--slo %.40q: want a limit of the 99th percentile, such as 'p99<250ms'", f.slo)
	}
	o.Limit = limit
	return o, checkQueue(queue.Options{Name: stack.QueueName, Kind: queue.Kind(f.queue), Confirms: !f.noConfirms, Persistent: !f.transient})
}

// runs are the faults of each run.
func (f *chaosFlags) runs() ([][]chaos.Fault, error) {
	var runs [][]chaos.Fault
	for _, text := range f.faults {
		faults, err := chaos.Parse(text)
		if err != nil {
			return nil, err
		}
		runs = append(runs, faults)
	}
	if len(runs) == 0 {
		for _, fault := range chaos.All() {
			runs = append(runs, []chaos.Fault{fault})
		}
	}
	return runs, nil
}

// chaosBroker is the broker that a path leads through, if any.
func (a *app) chaosBroker(path string, f chaosFlags) []stack.Broker {
	name := strings.TrimSuffix(path, stack.PublishedSuffix)
	for kind, variable := range prepare.BrokerVariables() {
		for _, direct := range []bool{false, true} {
			if stack.PathName(kind, direct) != name {
				continue
			}
			b := stack.Broker{Kind: kind, URL: a.Getenv(variable), Direct: direct, Queue: queue.Options{
				Name: stack.QueueName, Confirms: !f.noConfirms, Persistent: !f.transient,
			}}
			if kind == stack.RabbitMQ {
				b.Queue.Kind, b.PublishedTopology = queue.Kind(f.queue), f.topology
			}
			return []stack.Broker{b}
		}
	}
	return nil
}

// chaosAbsent is why a path's broker cannot be had; "" where it can.
func (a *app) chaosAbsent(ctx context.Context, brokers []stack.Broker) (string, error) {
	for _, b := range brokers {
		if why, err := a.Lacks(ctx, b.Kind); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// chaosDatabase gives every run its database: of embedded ones a file of its own.
func (a *app) chaosDatabase(ctx context.Context, f chaosFlags, runs []outages.Run) error {
	if !slices.ContainsFunc(runs, func(r outages.Run) bool { return r.Absent == "" }) {
		return cli.Usage("there is nothing to run: %s", runs[0].Absent)
	}
	at, err := a.Databases.For(ctx, a.Catalog, "logging", f.database, false)
	if err != nil {
		return err
	}
	for i := range runs {
		runs[i].Options.Stack.Database = at
		if at.Kind == databases.Embedded {
			if runs[i].Options.Stack.Database.Source, err = a.Databases.NewFile(); err != nil {
				return err
			}
		}
		if at.Kind == "" && strings.HasSuffix(runs[i].Path, "-direct") {
			return cli.Usage("%s: a listener cannot store in the logger's memory; give --db postgres or embedded", runs[i].Path)
		}
	}
	return nil
}

// dialLogger connects to a logger's HTTP.
func dialLogger(ctx context.Context, address string) (logging.Service, io.Closer, error) {
	for _, b := range bind.Bindings() {
		if b.Protocol.Name == "http1-json" {
			return b.Clients[0].Dial(ctx, wirelab.Dialing{Address: address})
		}
	}
	panic("no binding is named http1-json") // one is, in bind
}
