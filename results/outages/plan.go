package outages

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/lab/chaos"
	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/probe"
	"wirelab/pipeline/errlog"
	"wirelab/pipeline/stack"
	"wirelab/results/report"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// Asked is the runs that the user asks for.
type Asked struct {
	Faults                []string
	Rate, Slo, Queue      string
	Whole, Every          time.Duration
	Patience              time.Duration
	InFlight              int
	Seed                  uint64
	NoConfirms, Transient bool
	Topology              bool
}

// RateAuto is the value of --rate for which a trial finds the rate.
const RateAuto = "auto"

// Plan returns the runs that are asked for. A path that is not available says so in its run; it is an error only if
// it was the only one asked for.
func (f *Asked) Plan(ctx context.Context, l *prepare.Lab, errs io.Writer, build string, choice databases.Choice,
	paths []string, quiet bool,
) ([]Run, error) {
	base, err := f.Options()
	if err != nil {
		return nil, err
	}
	faults, err := f.Runs()
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
	base.Stack.Getenv, base.Logger = l.Getenv, dialLogger
	base.Stack.Stderr, base.Stack.Faults = &errlog.Together{To: errs}, true // failures of stopped parts are expected
	if !quiet {
		base.Say = func(text string) { l.Tell.Note("  %s", text) }
	}
	var runs []Run
	machine, made := report.Machine(probe.Environment()), build
	for _, path := range paths {
		one, err := f.ForPath(l, base, path)
		if err != nil {
			return nil, err
		}
		absent, err := chaosAbsent(ctx, l, one.Stack.Brokers)
		if err != nil {
			return nil, err
		}
		for _, group := range faults {
			r := Run{
				Path: path, Faults: FaultsText(group), Options: one, Absent: absent,
				Guarantee: stack.GuaranteeOf(one.Stack.Brokers), Machine: machine, Wirelab: made,
				Wanting: named && absent != "",
			}
			r.Options.Faults, r.LeftOut = chaos.Without(path, one.Stack.Brokers, group)
			if len(r.Options.Faults) == 0 && r.Absent == "" {
				r.Absent, r.LeftOut = strings.Join(r.LeftOut, "; "), nil
			}
			r.Options.Seed += uint64(len(runs)) // so that no id occurs twice in one store
			if r.Absent == "" {
				if _, err := r.Options.Complete(); err != nil {
					return nil, err
				}
			}
			runs = append(runs, r)
		}
	}
	return runs, chaosDatabase(ctx, l, choice, runs)
}

// published refuses --published-topology for a path without a broker, where it has no effect.
func (f *Asked) published(path string, brokers []stack.Broker) error {
	has := func(b stack.Broker) bool { return b.PublishedTopology && !b.Direct }
	if f.Topology && !slices.ContainsFunc(brokers, has) {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"--published-topology is RabbitMQ's with a listener, and %s does not go that way; leave it out, or name "+
				"log-rabbit alone", path)
	}
	return nil
}

// ForPath returns the options of a path's runs, except for faults and database.
func (f *Asked) ForPath(l *prepare.Lab, one chaos.Options, path string) (chaos.Options, error) {
	var err error
	if one.Path, err = l.Cell("logging", path, "", ""); err != nil {
		return one, err
	}
	if !one.Path.Protocol.Pipeline {
		return one, wirelab.Errorf(wirelab.InvalidArgument,
			"%s is no path through the pipeline; paths are such as log-grpc and log-rabbit", path)
	}
	one.Stack.Brokers = f.Broker(l, path)
	if err := f.published(path, one.Stack.Brokers); err != nil {
		return one, err
	}
	for _, b := range one.Stack.Brokers {
		one.Unpromised = one.Unpromised || b.PublishedTopology
	}
	one.Stack.Published = strings.HasSuffix(path, stack.PublishedSuffix)
	return one, nil
}

// Options returns the options that follow from the flags alone.
func (f *Asked) Options() (chaos.Options, error) {
	o := chaos.Options{
		For: f.Whole, Every: f.Every, Patience: f.Patience, InFlight: f.InFlight,
		Seed: cmp.Or(f.Seed, rand.Uint64()), Unpromised: f.NoConfirms,
	}
	var err error
	if f.Rate != RateAuto {
		if o.Rate, err = plan.ParseRate(f.Rate); err != nil {
			return o, err
		}
	}
	if f.Topology && f.Queue != "" {
		return o, wirelab.Errorf(wirelab.InvalidArgument,
			"--published-topology has one queue for each listener; leave --queue out")
	}
	limit, err := time.ParseDuration(strings.TrimPrefix(f.Slo, "p99<"))
	if err != nil || limit <= 0 {
		return o, wirelab.Errorf(wirelab.InvalidArgument,
			"--slo %.40q: want a limit of the 99th percentile, such as 'p99<250ms'", f.Slo)
	}
	o.Limit = limit
	return o, prepare.CheckQueue(workqueue.Options{
		Name: stack.QueueName, Kind: workqueue.Kind(f.Queue),
		Confirms: !f.NoConfirms, Persistent: !f.Transient,
	})
}

// Runs returns the faults of each run.
func (f *Asked) Runs() ([][]chaos.Fault, error) {
	var runs [][]chaos.Fault
	for _, text := range f.Faults {
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

// Broker returns the broker of a path, if it has one.
func (f *Asked) Broker(l *prepare.Lab, path string) []stack.Broker {
	name := strings.TrimSuffix(path, stack.PublishedSuffix)
	for kind, variable := range prepare.BrokerVariables() {
		for _, direct := range []bool{false, true} {
			if stack.PathName(kind, direct) != name {
				continue
			}
			b := stack.Broker{Kind: kind, URL: l.Getenv(variable), Direct: direct, Queue: workqueue.Options{
				Name: stack.QueueName, Confirms: !f.NoConfirms, Persistent: !f.Transient,
			}}
			if kind == stack.RabbitMQ {
				b.Queue.Kind, b.PublishedTopology = workqueue.Kind(f.Queue), f.Topology
			}
			return []stack.Broker{b}
		}
	}
	return nil
}

// chaosAbsent says why a path's broker is not available; "" if it is.
func chaosAbsent(ctx context.Context, l *prepare.Lab, brokers []stack.Broker) (string, error) {
	for _, b := range brokers {
		if why, err := l.Lacks(ctx, b.Kind); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// chaosDatabase gives every run its database. Each run with an embedded database gets a new file.
func chaosDatabase(ctx context.Context, l *prepare.Lab, choice databases.Choice, runs []Run) error {
	if !slices.ContainsFunc(runs, func(r Run) bool { return r.Absent == "" }) {
		return wirelab.Errorf(wirelab.InvalidArgument, "there is nothing to run: %s", runs[0].Absent)
	}
	at, err := l.Databases.For(ctx, l.Catalog, "logging", choice, false)
	if err != nil {
		return err
	}
	for i := range runs {
		runs[i].Options.Stack.Database = at
		if at.Kind == databases.Embedded {
			if runs[i].Options.Stack.Database.Source, err = l.Databases.NewFile(); err != nil {
				return err
			}
		}
		if at.Kind == "" && strings.HasSuffix(runs[i].Path, "-direct") {
			return wirelab.Errorf(wirelab.InvalidArgument,
				"%s: a listener cannot store in the logger's memory; give --db postgres or embedded", runs[i].Path)
		}
	}
	return nil
}

// dialLogger connects to a logger over HTTP.
func dialLogger(ctx context.Context, address string) (logging.Service, io.Closer, error) {
	for _, b := range bind.Bindings() {
		if b.Protocol.Name == "http1-json" {
			return b.Clients[0].Dial(ctx, wirelab.Dialing{Address: address})
		}
	}
	panic("no binding is named http1-json") // bind has a binding of this name
}
