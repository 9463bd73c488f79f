package main

import (
	"context"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/loads"
	"wirelab/lab/plan"
	"wirelab/lab/services"
	"wirelab/workload/external"
)

// loadFlags are the flags of "load".
type loadFlags struct {
	compareFlags
	typed                  services.Typed
	mayLoad, slo, drivenBy string
	connections, pid       int
	dry, curve, capacity   bool
}

const (
	// mayLoadRate is the default rate, in calls per second, for a host that is another machine.
	mayLoadRate = 100
	mayLoadText = "100 calls per second"
	// loadInFlight is the default number of calls in flight.
	loadInFlight = 10
)

func newLoadCommand(a *app) *cobra.Command {
	var f loadFlags
	command := &cobra.Command{
		Use:     "load TARGET",
		Short:   "Load a service of your own, and measure how it answers",
		Long:    desk.HelpText("load"),
		Example: desk.HelpText("load.examples"),
		Args:    cli.Arguments(1, 2, "one URL, such as http://localhost:8080/items"),
		RunE:    func(command *cobra.Command, args []string) error { return f.run(command.Context(), a, args) },
	}
	f.register(a, command)
	cli.Explain(command, desk.HelpText("load.details")+mayLoadText+desk.HelpText("load.details.2"))
	return command
}

func (f *loadFlags) register(a *app, command *cobra.Command) {
	flags := command.Flags()
	f.requestFlags(flags)
	f.replyFlags(flags)
	flags.IntSliceVarP(&f.inFlight, "in-flight", "c", nil,
		"closed loop: calls in flight; several `numbers`, separated by commas, are several loads (default 10)")
	flags.StringVarP(&f.rate, "rate", "r", "",
		"open loop: arrivals per second in all, such as 500 or 2k; several `rates`, separated by commas, are "+
			"several loads")
	registerArrivals(&f.arrivals, command)
	flags.StringVar(&f.drivenBy, "driver", "",
		"which client makes the calls: `client` or raw (default: raw if it can, because it costs least)")
	flags.StringVar(&f.until, "until", "", "stop when the primary metric's interval is as narrow as `±2%`")
	flags.DurationVarP((*time.Duration)(&f.plan.For), "for", "t", 0,
		"start no more rounds after this time, once the fewest rounds are done")
	flags.IntVar(&f.plan.Rounds.Min, "rounds", 0, "fewest rounds (default 10; with fewer than 10 nothing is claimed)")
	flags.IntVar(&f.plan.Rounds.Max, "max-rounds", 0, "most rounds (default 100)")
	flags.IntVar(&f.plan.Slices, "slices", 0, "slices in a round (default 10; 3 in the open loop)")
	flags.DurationVar((*time.Duration)(&f.plan.Slice), "slice", 0,
		"length of a slice (default 30ms; 1s in the open loop, more at rates below 3)")
	flags.IntVar(&f.connections, "connections", 0,
		"connections to hold (default: one for each call in flight; one in all with HTTP/2, HTTP/3 and gRPC)")
	desk.AddDeadlineFlag(flags, &f.plan.Deadline, "10s")
	flags.StringVar(&f.plan.Primary, "primary", "", "metric that decides, for --until")
	flags.Uint64Var(&f.plan.Seed, "seed", 0, "seed of the random order (default: random, and printed)")
	flags.StringVar(&f.plan.Pin, "pin", "", "auto: load generator and server on different cores; none (default auto)")
	flags.StringVar(&f.slo, "slo", "",
		"an `objective`, such as 'p99<20ms,errors<0.1%': a threshold, or what --capacity finds the limit of")
	flags.BoolVar(&f.curve, "curve", false, "measure at rising rates, up to overload; see wirelab curve")
	flags.BoolVar(&f.capacity, "capacity", false, "find the highest rate that keeps --slo; see wirelab capacity")
	flags.BoolVar(&f.dry, "dry-run", false, "print what would be sent, and send nothing")
	flags.IntVar(&f.pid, "pid", 0,
		"the `process` of the service, if it runs here (default: found by its port, if it is yours)")
	flags.StringVar(&f.mayLoad, "i-may-load", "",
		"the `host` of TARGET, if it is another machine and you may load it")
	f.conduct.register(a, flags)
	f.conduct.hosts.Register(flags)
	cli.Common(flags, "data")
	command.MarkFlagsMutuallyExclusive("in-flight", "rate")
	command.MarkFlagsMutuallyExclusive("curve", "capacity")
}

func (f *loadFlags) requestFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&f.typed.Method, "method", "X", "", "method of HTTP (default GET; POST with --data)")
	flags.StringVarP(&f.typed.Data, "data", "d", "",
		"the request: `text`, @FILE, or - for standard input; of gRPC JSON, of GraphQL the document")
	flags.StringArrayVarP(&f.typed.Headers, "header", "H", nil, "a `header`, or metadata, as 'Name: value'")
	flags.StringVar(&f.typed.Rows, "rows", "",
		"`file` of NDJSON or CSV: a request for each row, whose fields stand for {{.field}} in the URL, headers "+
			"and data")
	flags.StringVar(&f.typed.Version, "http", "", "version of HTTP: 1, 2 or 3 (default 1; 2 of gRPC)")
	flags.StringVar(&f.typed.Schema, "proto", "", "of gRPC: .proto `file` of the service (default: reflection)")
	flags.StringVar(&f.typed.Schema, "protoset", "", "of gRPC: `file` of compiled descriptors")
	flags.StringSliceVar(&f.typed.ImportPaths, "import-path", nil,
		"of gRPC: `folders` where imports of --proto are found")
	flags.StringVar(&f.typed.Unix, "unix-socket", "", "connect to the socket at this `path` instead of the host")
	flags.StringVar(&f.typed.Proxy, "proxy", "", "go through the HTTP proxy at this `URL`")
	flags.BoolVar(&f.typed.Cookies, "cookies", false,
		"keep the cookies that replies set, for each call in flight apart")
	flags.IntVar(&f.typed.MessagesOf, "messages", 0,
		"of WebSocket and event streams: how many `messages` a call reads (default 1)")
}

func (f *loadFlags) replyFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.typed.Expect, "expect", "",
		"a right reply: learnt, status, or the `file` of a JSON Schema (default learnt)")
	flags.StringSliceVar(&f.typed.Ignore, "ignore", nil,
		"with learnt replies: JSON `pointers` of what may differ, such as /updatedAt,/items/*/seen")
}

// run measures what the flags ask for.
func (f *loadFlags) run(ctx context.Context, a *app, args []string) error {
	switch {
	case f.capacity && f.slo == "":
		return cli.Usage("--capacity finds the highest rate that keeps an objective: give it with --slo, such as " +
			"--slo 'p99<20ms'")
	case f.capacity && len(f.conduct.gate.FailIf) > 0:
		return cli.Usage("--fail-if is not for --capacity: its exit code says whether there is a capacity")
	}
	if err := f.readable(); err != nil {
		return err
	}
	d, err := f.typed.Describe(ctx, &a.Services, f.conduct.secure.TLS, args)
	if err != nil {
		return err
	}
	f.conduct.secure = desk.SecureFlags{} // the description has them now
	text, err := yaml.Marshal(d)
	if err != nil {
		return err
	}
	p := f.plan
	p.Name, p.Workload, p.External = "load", d.Service, []plan.External{{Text: string(text)}}
	for name := range d.Operations {
		p.Operation = name
	}
	if err := f.asked(d); err != nil {
		return err
	}
	if p, err = a.Services.MakeWork(ctx, p); err != nil {
		return services.AsTyped(err, args[len(args)-1])
	}
	if f.dry {
		return a.printRequests(p)
	}
	a.Services.MayLoad = f.mayLoad
	if err := a.Services.Permitted(f.mayLoad); err != nil {
		return err
	}
	f.capped(a, &p)
	arm := a.Services.Reached(plan.Arm{
		Name:     a.Services.Hidden(services.WithoutQuerySecrets(args[len(args)-1])),
		Protocol: services.TargetWire, Driver: f.drivenBy, Connections: f.connections, PID: f.pid,
	})
	tried, err := a.Services.Tried(ctx, p.Operation, arm)
	if err != nil {
		return cli.With(desk.ExitFailed, err)
	}
	if p, err = f.typed.Comparing(ctx, &a.Services, p, d, tried); err != nil {
		return err
	}
	if arm.Driver == "" && a.Services.RawWhy(p.Operation, arm, tried) == "" {
		arm.Driver = plan.DriverRaw
	}
	p.Arms = []plan.Arm{arm}
	switch {
	case f.curve:
		rated := curveFlags{ratedFlags: f.rated(p), rates: f.rate, steps: curveSteps, conduct: f.conduct}
		return rated.measure(ctx, a, rated.plan, "")
	case f.capacity:
		rated := capacityFlags{
			ratedFlags: f.rated(p), slo: f.slo, certificate: f.conduct.certificate, name: f.conduct.name,
			rounds: f.plan.Rounds.Min,
			json:   f.conduct.json, quiet: f.conduct.quiet, network: f.conduct.network, database: f.conduct.database,
		}
		return rated.measure(ctx, a, rated.plan, "")
	}
	return f.measure(ctx, a, p)
}

// readable checks that the flags can be read, before any call is made.
func (f *loadFlags) readable() error {
	if _, err := loads.Thresholds(f.slo); err != nil {
		return err
	}
	if f.until != "" {
		if _, err := plan.ParseUntil(f.until); err != nil {
			return err
		}
	}
	if f.curve || f.capacity {
		return nil // they read their rates themselves
	}
	p := f.plan
	return f.parseLoads(&p)
}

// asked refuses a host that may not be loaded before anything is sent to it: reflection is a call too.
func (f *loadFlags) asked(d external.Description) error {
	at, err := url.Parse(d.Wires[services.TargetWire].Target)
	if err != nil || f.dry || f.typed.Unix != "" || services.Loopback(net.JoinHostPort(at.Hostname(), "1")) ||
		f.mayLoad == at.Hostname() {
		return nil //nolint:nilerr // the description reports a bad URL
	}
	return services.NotHere(at.Hostname())
}

// rated returns the flags for the commands that try rates.
func (f *loadFlags) rated(p plan.Plan) ratedFlags {
	p.Loads = nil
	r := ratedFlags{plan: p, inFlight: inFlightUsual}
	if len(f.inFlight) > 0 {
		r.inFlight = f.inFlight[0]
	}
	return r
}

// measure runs the plan as the flags say.
func (f *loadFlags) measure(ctx context.Context, a *app, p plan.Plan) error {
	if f.until != "" {
		var err error
		if p.Until, err = plan.ParseUntil(f.until); err != nil {
			return err
		}
	}
	if err := f.parseLoads(&p); err != nil {
		return err
	}
	if len(p.Loads) == 0 {
		p.Loads = []plan.Load{{InFlight: loadInFlight}}
	}
	thresholds, err := loads.Thresholds(f.slo)
	if err != nil {
		return err
	}
	f.conduct.gate.FailIf = append(f.conduct.gate.FailIf, thresholds...)
	return a.conduct(ctx, p, f.conduct)
}

// capped gives a host that is another machine a low rate, unless the flags set the load.
func (f *loadFlags) capped(a *app, p *plan.Plan) {
	for _, w := range a.Services.Made.Service.Wires {
		if !services.Loopback(w.Address) && f.rate == "" && len(f.inFlight) == 0 && !f.curve && !f.capacity {
			p.Loads = []plan.Load{{Rate: mayLoadRate}}
			a.Note("%s is not this machine: %s; --rate or --in-flight sets another load", services.HostOf(w.Address),
				mayLoadText)
		}
	}
}

// printRequests prints the requests that would be sent, with secrets hidden.
func (a *app) printRequests(p plan.Plan) error {
	texts, notes := services.RequestTexts(&a.Services, p)
	err := a.Printf("%s", strings.Join(texts, ""))
	for _, note := range notes {
		a.Note("%s", note)
	}
	return err
}
