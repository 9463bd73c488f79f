// Command gatewaybench measures what the gateway of the log pipeline costs, and
// sets it beside what one further hop over the wire behind it costs.
//
// Three chains are driven in turns by the same number of callers in a closed
// loop, all to one logger:
//
//	direct    client -http1-json-> logger          client -wire-> logger
//	through   client -http1-json-> gateway -wire-> logger
//	further   client -wire-> relay -wire-> logger
//
// The gateway's own overhead is through less direct over http1-json: what a
// caller that speaks HTTP pays for the gateway before its logger, all else equal.
// One further hop of a wire is further less direct over that wire: the relay is
// a process that takes a call by the wire's server here and makes it again by the
// wire's client here, and does nothing else. Both are one process more on the
// way, so that a ratio of 1 is a gateway that costs no more than being there.
// Through less direct over the inner wire is told too: it holds the whole
// price of having HTTP in front.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"wirelab/workload/logging"
)

// relayCommand makes this program the relay of a wire: relay PROTOCOL ADDRESS.
const relayCommand = "relay"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := choose(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "gatewaybench:", err)
		os.Exit(1)
	}
}

func choose(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == relayCommand {
		return relay(ctx, args[1], args[2], os.Stdin, os.Stdout)
	}
	return run(ctx, args, os.Stdout, os.Stderr)
}

// options are the flags.
type options struct {
	Wirelab  string        `json:"-"`
	Wires    []string      `json:"wires"`
	Database string        `json:"database"`
	Requests string        `json:"requests"`
	Callers  int           `json:"callers"`
	Slice    time.Duration `json:"slice_ns"`
	Slices   int           `json:"slices"`
	Warm     time.Duration `json:"warm_ns"`
	Rounds   int           `json:"rounds"`
	Seed     uint64        `json:"seed"`
	Limit    float64       `json:"limit"`
	JSON     bool          `json:"-"`
}

// memory is the database that is none.
const memory = "memory"

func parse(args []string, help io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("gatewaybench", flag.ContinueOnError)
	flags.SetOutput(help)
	flags.Usage = func() {
		fmt.Fprint(help, "What the log pipeline's gateway costs, beside one further hop over the wire behind it.\n\nFlags:\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.Wirelab, "wirelab", "bin/wirelab", "the `program` to measure")
	wires := flags.String("wires", "netrpc grpc http1-json", "inner wires, with spaces between them")
	flags.StringVar(&o.Database, "database", memory, "where the logger stores: memory, or postgres, which is then started")
	flags.StringVar(&o.Requests, "requests", "", "published: each entry anew; again: a few entries over and over, so that the store does not grow; default: again in memory, else published")
	flags.IntVar(&o.Callers, "callers", 50, "calls in flight, in a closed loop")
	flags.DurationVar(&o.Slice, "slice", time.Second, "length of a measured slice")
	flags.IntVar(&o.Slices, "slices", 2, "slices of each chain in a round")
	flags.DurationVar(&o.Warm, "warm", time.Second, "least length of a warm-up, before a round's slices")
	flags.IntVar(&o.Rounds, "rounds", 10, "how often all processes are started afresh and measured")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the order and of what is asked")
	flags.Float64Var(&o.Limit, "limit", 1.5, "how many times a further hop the overhead may be")
	flags.BoolVar(&o.JSON, "json", false, "print every round, and what was made of them, as JSON")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.Wires = strings.Fields(*wires)
	for _, wire := range o.Wires {
		if _, known := gatewayPaths()[wire]; !known {
			return o, fmt.Errorf("wire %q; the gateway has http1-json, grpc and netrpc", wire)
		}
	}
	if o.Database != memory && o.Database != "postgres" {
		return o, fmt.Errorf("database %q; want memory or postgres", o.Database)
	}
	if o.Requests == "" {
		o.Requests = logging.Published
		if o.Database == memory {
			o.Requests = logging.Again
		}
	}
	if !slices.Contains([]string{logging.Published, logging.Again}, o.Requests) {
		return o, fmt.Errorf("requests %q; want %s or %s", o.Requests, logging.Published, logging.Again)
	}
	if len(o.Wires) == 0 || o.Rounds < 2 || o.Slices < 1 || o.Callers < 1 || o.Slice <= 0 || flags.NArg() > 0 {
		return o, errors.New("want a wire, 2 rounds, a slice that lasts and a caller at least, and no arguments")
	}
	var err error
	o.Wirelab, err = filepath.Abs(o.Wirelab)
	return o, err
}

func run(ctx context.Context, args []string, stdout, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	b := &bench{options: o, chains: chains(o.Wires), progress: progress}
	if err := b.all(ctx); err != nil {
		return err
	}
	r, err := b.report()
	if err != nil {
		return err
	}
	if o.JSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	return r.print(stdout)
}
