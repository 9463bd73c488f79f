// Package bench starts the log pipeline where an experiment's arm is a path
// through it, and leaves every other child to the usual bench. It knows which
// parts a path needs and what stands for the server: all of them together; and
// that a logger who is called directly has stored what he replied to.
package bench

import (
	"context"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/pipeline/stack"
)

// Bench is an experiment's bench with pipelines. Make one with [New].
type Bench struct {
	*experiment.Processes
	options stack.Options
	plan    plan.Plan
	sources map[string]string
}

var _ experiment.Networks = (*Bench)(nil)

// Path reports whether a protocol is a path through the pipeline.
func Path(protocol string) bool { return strings.HasPrefix(protocol, "log-") }

// Check returns InvalidArgument for an arm that no pipeline can be: a queue where
// none is on the way, or one that cannot be read.
func Check(arm plan.Arm) error {
	if arm.Queue == "" {
		return nil
	}
	path := strings.TrimSuffix(arm.Protocol, stack.PublishedSuffix)
	if broker, _ := brokerOf(path); broker == "" {
		return wirelab.Errorf(wirelab.InvalidArgument, "arm %s has a queue, and %s leads through none", arm.Name,
			arm.Protocol)
	}
	_, err := workqueue.ParseOptions(arm.Queue)
	return err
}

// Broker is the broker that an arm's pipeline needs, one of [stack.Brokers]; "" if
// it needs none, or runs elsewhere with all it needs.
func Broker(arm plan.Arm) string {
	if arm.Target != "" {
		return ""
	}
	kind, _ := brokerOf(strings.TrimSuffix(arm.Protocol, stack.PublishedSuffix))
	return kind
}

// New returns usual with pipelines. options say which program the parts are and
// where brokers are that run elsewhere (Brokers, by kind); what a path needs is
// added for each arm. sources are of databases, by kind.
func New(usual *experiment.Processes, p plan.Plan, options stack.Options, sources map[string]string) *Bench {
	options.CPUs = usual.Placement().ServerCPUs
	return &Bench{Processes: usual, options: options, plan: p, sources: sources}
}

// Server implements [experiment.Bench].
func (b *Bench) Server(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	if !Path(arm.Protocol) {
		server, err := b.Processes.Server(ctx, arm)
		if err != nil {
			return nil, err
		}
		return called{server}, nil
	}
	o := b.options
	o.Brokers = nil
	name, published := strings.CutSuffix(arm.Protocol, stack.PublishedSuffix)
	o.Published = published
	if kind := b.plan.DatabaseOf(arm); kind != "" {
		o.Database = wirelab.DatabaseAddress{Kind: kind, Source: b.sources[kind], Pool: b.plan.Pool}
	}
	if broker, direct := brokerOf(name); broker != "" {
		needed := stack.Broker{Kind: broker, Direct: direct}
		for _, given := range b.options.Brokers {
			if given.Kind == broker {
				needed = given
				needed.Direct = direct
			}
		}
		var err error
		if needed.Queue, err = workqueue.ParseOptions(arm.Queue); err != nil {
			return nil, err
		}
		o.Brokers = []stack.Broker{needed}
	}
	s, err := stack.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	ready := func() control.Ready {
		said := readyOf(s)
		said.Guarantee = stack.GuaranteeOf(o.Brokers)
		return said
	}
	return experiment.Together(whole{s}, ready, stopLimit), nil
}

// Null implements [experiment.Bench]: nothing stands for a pipeline that does
// nothing.
func (b *Bench) Null(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	if Path(arm.Protocol) {
		return nil, wirelab.Errorf(wirelab.Unimplemented, "no null responder speaks %s", arm.Protocol)
	}
	return b.Processes.Null(ctx, arm)
}

// brokerOf is the broker that a path leads through, "" if none, and whether its
// listener stores by itself.
func brokerOf(path string) (kind string, direct bool) {
	for _, kind := range stack.Brokers() {
		for _, direct := range []bool{false, true} {
			if stack.PathName(kind, direct) == path {
				return kind, direct
			}
		}
	}
	return "", false
}

// called is a server that is called directly, in a plan with arms that are paths. An entry that it has replied to is
// stored, which is compared with the entries that paths store later.
type called struct{ experiment.Child }

// Ready implements [experiment.Child].
func (c called) Ready() control.Ready {
	ready := c.Child.Ready()
	ready.Guarantee, ready.Stores = &result.Guarantee{}, true
	return ready
}

// Parts implements [experiment.Parted]: it is the logger, and whatever is on the way to it.
func (c called) Parts() (map[string]time.Duration, error) {
	if way, ok := c.Child.(experiment.Parted); ok { // others are on the way to it
		parts, err := way.Parts()
		if used, there := parts["server"]; there {
			delete(parts, "server")
			parts[stack.LoggerPart] = used
		}
		return parts, err
	}
	used, err := c.CPU()
	return map[string]time.Duration{stack.LoggerPart: used}, err
}

// stopLimit is how long a pipeline may take to stop.
const stopLimit = time.Minute

// whole is a pipeline that is killed as one.
type whole struct{ *stack.Stack }

// Kill implements [experiment.Several].
func (w whole) Kill(ctx context.Context) {
	for _, part := range w.Parts() {
		_ = w.Stack.Kill(ctx, part.Name) // one that has ended need not be
	}
}

// readyOf is what a pipeline says of itself: the gateway is called, and all journals are read.
func readyOf(s *stack.Stack) control.Ready {
	ready := control.Ready{}
	for _, part := range s.Parts() {
		switch part.Name {
		case stack.GatewayPart:
			ready.Address = part.Endpoints[stack.EndpointHTTP]
		case stack.LoggerPart:
			if part.About != wirelab.Memory {
				ready.Database = part.About
			}
		default:
			if slices.Contains(stack.Brokers(), part.Name) {
				ready.Broker = part.About
			}
		}
		if part.Journal != "" {
			ready.Journals = append(ready.Journals, part.Journal)
		}
	}
	return ready
}
