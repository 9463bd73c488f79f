package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/loads"
	"wirelab/lab/plan"
	"wirelab/lab/services"
)

// compareFlags are what is typed; parse makes a plan of them.
type compareFlags struct {
	plan                  plan.Plan // the fields that flags set as they are
	drivers               []string
	workload, until, rate string
	arrivals              loads.Arrivals
	streams               loads.Streams
	messages              loads.Messages
	external              services.Choice
	inFlight              []int
	conduct               conductOptions
}

// compareLong is what "wirelab compare --help" explains.
const compareLong = `Compare makes the same calls over each arm, in rounds with new processes. For each
metric it prints what each arm costs, the difference from the first arm with its
interval, and a verdict: better, worse, equivalent, or undecided. If a check
refuses a number, compare prints the reason instead. The progress line shows the
time that is left.

An ARM is a protocol, with or without settings. wirelab matrix lists protocols.

  grpc                              the usual libraries
  grpc,client=connect-go            another client library
  grpc,server=connect-go            another server library
  grpc,connections=4                four connections instead of one
  grpc,target=127.0.0.1:50051       a server that is already running
  grpc,target=127.0.0.1:50051,pid=4711,server=tonic
                                    the same, with its process and its library
  grpc,driver=raw                   called by wirelab's own minimal client
  grpc,driver=tool:h2load           called by another load generator: wrk, h2load or ghz`

// compareDetails is what --help-all explains beside it.
const compareDetails = `More settings of an ARM:

  grpc,data=100                     another data set of the workload
  log-rabbit,queue=classic          another kind of queue in the log pipeline

Log pipeline: arms of logging.WriteLog whose names begin with log- are paths
through the log pipeline. wirelab starts a pipeline for each, broker included,
and counts all of it as the server. It tracks each entry by its id until it is
confirmed and stored. queue= is quorum, classic or stream; unconfirmed, transient
and prefetch-8 can be added with +. log-rabbit-direct stores from the queue;
log-http-published does what the published client did. If RabbitMQ is not
installed, the arms that need it are left out, the report says so, and the exit
code is 3. See wirelab up logging --help and wirelab matrix logging.

Drivers: --driver client calls through the protocol's library, as a user would.
--driver raw calls through wirelab's own small client, with requests prepared in
advance, to show the cost of the server. --driver client,raw runs each arm both
ways, and the report separates the server's cost from the library's.

driver=tool:wrk, tool:h2load or tool:ghz has another load generator make the calls
of an arm, over TCP without TLS, with --in-flight. It repeats the first request
that the protocol's own client sends. Slices then take whole seconds (default 3 of
1s), and each starts the program, so client CPU includes its start. The report has
throughput, CPU time and server allocations of such an arm, but no response times
and no bytes, and its replies are not checked. With server=null in each arm a
server that does nothing answers, so that the drivers are what is compared. If a
program is not installed, its arm is left out, as with brokers.

Loads: with --in-flight the loop is closed: so many calls are always in flight.
With --rate the loop is open: calls are due at given times, whether the server
keeps up or not, and their times count from when they were due. --arrivals says
how they arrive: poisson, constant, log-normal (bursts), or as recorded in a file
(see wirelab arrivals).

Streams: --streams 100 makes no calls, but holds 100 streams open and reads them
to the end of each slice. --rate is the rate of all streams together. Each event
is checked, and timed from when it was due. If an event is missing, or arrives
twice or out of order, its arm gets no figures. --reader 50% reads each stream at
half of its rate; the report then says where the rest is.

Messages: with --workload messaging the arms are message brokers: hermes-grpc,
hermes-rest, hermes-graphql, hermes-grpc-stream, hermes-all, nats-jetstream,
rabbitmq, and kafka (only with target=). wirelab starts a cluster of --nodes for
each arm in each round, or uses the one at target=. If an acknowledged message is
missing, or a message is duplicated, reordered or corrupted, the arm gets no
figures. --scenario says what happens: live, slow, disk, late, crash, isolation,
fanout or sustained; or what happens to the broker: leader-kill, follower-kill,
partition, pause, disk-full or rolling-restart. With --durability fsync a broker
acknowledges when a quorum has a message on disk. With default each broker has
its default settings, and the report marks those that acknowledge earlier.

Network: --network puts a path between driver and server, for TCP and UDP, also in
front of target=: lan, cloud, wan, mobile, or settings. The floors are measured
over the same path. See wirelab relay --help.

More examples:

  wirelab compare grpc http1-json -w directory.GetPerson --arrivals trace.json \
      --speed-up 10
  wirelab compare grpc http3-proto http1-json -w routeguide.GetFeature \
      --network wan,loss=0.1%
  wirelab compare grpc sse websocket -w ledger.StreamTransactions --streams 10 \
      --rate 10k --slice 5s
  wirelab compare log-grpc log-rabbit log-nats -w logging.WriteLog \
      --in-flight 50
  wirelab compare hermes-grpc nats-jetstream -w messaging \
      --scenario leader-kill --rate 1k
  wirelab compare http1-json,driver=raw http1-json,driver=tool:wrk \
      -w routeguide.GetFeature --in-flight 50 --primary client-cpu

` + failIfText

func newCompareCommand(a *app) *cobra.Command {
	var f compareFlags
	command := &cobra.Command{
		Use:   "compare ARM ARM…",
		Short: "Compare protocols: what differs, and is it real?",
		Long:  compareLong,
		Example: `  wirelab compare grpc http1-json -w routeguide.GetFeature
  wirelab compare grpc http1-json -w routeguide.GetFeature --in-flight 1,50 --until 2%
  wirelab compare grpc h2c-proto http1-proto -w routeguide.GetFeature --rate 2k --for 60s
  wirelab compare grpc grpc,client=connect-go -w routeguide.ListFeatures --json
  wirelab compare http1-proto grpc -w routeguide.GetFeature --fail-if 'cpu/req > +40%'
  wirelab compare hermes-grpc-stream nats-jetstream rabbitmq -w messaging`,
		Args: a.armArguments("arms to compare, such as grpc http1-json"),
		RunE: func(command *cobra.Command, args []string) error {
			p, said, err := f.parse(command.Context(), a, args)
			if err != nil {
				return err
			}
			a.sayDriver(said, f.conduct.quiet)
			return a.conduct(command.Context(), p, f.conduct)
		},
	}
	f.register(a, command)
	cli.Explain(command, compareDetails)
	return command
}

func (f *compareFlags) register(a *app, command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.workload, "workload", "w", "", "the `work`, as WORKLOAD.OPERATION")
	flags.IntSliceVar(&f.inFlight, "in-flight", nil, "closed loop: calls in flight; several `numbers`, separated by commas, are several loads (default 1)")
	flags.StringVar(&f.rate, "rate", "", "open loop: arrivals per second in all, such as 500 or 2k; several `rates`, separated by commas, are several loads")
	registerArrivals(&f.arrivals, command)
	registerExternal(&f.external, flags)
	registerVersions(&f.external, flags)
	registerStreams(&f.streams, flags)
	registerMessages(&f.messages, flags, &f.plan)
	flags.StringSliceVar(&f.drivers, "driver", nil, "which client makes the calls: client, raw, or both as `client,raw` (default client)")
	flags.StringVar(&f.until, "until", "", "stop when the primary metric's interval is as narrow as `±2%`")
	flags.DurationVar((*time.Duration)(&f.plan.For), "for", 0, "start no more rounds after this time, once the fewest rounds are done")
	flags.IntVar(&f.plan.Rounds.Min, "rounds", 0, "fewest rounds (default 10; with fewer than 10 nothing is claimed)")
	flags.IntVar(&f.plan.Rounds.Max, "max-rounds", 0, "most rounds (default 100)")
	flags.IntVar(&f.plan.Slices, "slices", 0, "slices of each arm and load in a round (default 10; 3 in the open loop)")
	flags.DurationVar((*time.Duration)(&f.plan.Slice), "slice", 0, "length of a slice (default 30ms; 1s in the open loop, more at rates below 3; 2s with streams)")
	addDeadlineFlag(flags, &f.plan.Deadline, "10s")
	flags.StringVar(&f.plan.Requests, "requests", "", "how requests are chosen; see wirelab matrix (default: the operation's first way)")
	flags.StringVar(&f.plan.Data, "data", "", "data `set` of the arms without data=; see wirelab matrix (default: the first of the workload)")
	flags.StringVar(&f.plan.Primary, "primary", "", "metric that decides, for --until and the ranking (default server-cpu; response-p99 in the open loop, event-server-cpu with streams)")
	flags.Uint64Var(&f.plan.Seed, "seed", 0, "seed of the random order and requests (default: random, and printed)")
	flags.StringVar(&f.plan.Pin, "pin", "", "auto: server and driver on different cores; none (default auto)")
	f.conduct.register(a, flags)
	command.MarkFlagsMutuallyExclusive("in-flight", "rate")
	command.MarkFlagsMutuallyExclusive("in-flight", "streams")
}

// parse returns the plan that the flags and the arms ask for.
func (f *compareFlags) parse(ctx context.Context, a *app, arms []string) (p plan.Plan, said string, err error) {
	p = f.plan
	p.Name = "compare"
	if arms, err = f.external.Work(ctx, &a.Services, &p, f.workload, arms); err != nil {
		return p, "", err
	}
	for _, text := range arms {
		arm, err := plan.ParseArm(text)
		if err != nil {
			return p, "", err
		}
		p.Arms = append(p.Arms, arm)
	}
	p.Arms = drivenBy(p.Arms, f.drivers)
	p.Arms, said = a.Services.Arms(p)
	if f.until != "" {
		var err error
		if p.Until, err = plan.ParseUntil(f.until); err != nil {
			return p, "", err
		}
	}
	return p, said, f.parseLoads(&p)
}

// drivenBy returns the arms once for each driver, but those that name theirs.
func drivenBy(arms []plan.Arm, drivers []string) []plan.Arm {
	if len(drivers) == 0 {
		return arms
	}
	var all []plan.Arm
	for i, driver := range drivers {
		for _, arm := range arms {
			switch {
			case arm.Driver == "" && driver == plan.DriverClient:
				all = append(all, arm) // by default, and so without a word of it in its name
			case arm.Driver == "":
				arm.Driver = driver
				all = append(all, arm)
			case i == 0:
				all = append(all, arm)
			}
		}
	}
	return all
}

// parseLoads sets a plan's loads.
func (f *compareFlags) parseLoads(p *plan.Plan) error {
	for _, n := range f.inFlight {
		if n < 1 {
			return cli.Usage("--in-flight %d: want 1 or more", n)
		}
		p.Loads = append(p.Loads, plan.Load{InFlight: n})
	}
	loads, err := f.arrivals.Loads(f.rate)
	if err != nil {
		return err
	}
	if loads, err = f.streams.Loads(loads); err != nil {
		return err
	}
	p.Loads = append(p.Loads, loads...)
	return f.messages.Loads(p)
}
