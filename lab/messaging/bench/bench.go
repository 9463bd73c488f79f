// Package bench starts a cluster of message brokers where an experiment's arm is a way
// to one, with the driver that sends messages, and leaves every other child to the
// usual bench. It speaks no broker's protocol, sends and counts no message, and does
// nothing to a cluster but start and end it: a driver asks its stage for the rest.
package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/drivers"
	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/messaging/cluster"
	"wirelab/lab/plan"
)

// Programs are what a bench runs.
type Programs struct {
	Driver  []string // the arguments that make this program a driver of messages
	Spinner []string // those that make it one that keeps a core from idling; nil: none does
	cluster.Programs
}

// Bench is an experiment's bench with brokers. Make one with [New].
type Bench struct {
	*experiment.Processes
	programs Programs
	plan     plan.Plan
}

var _ experiment.Networks = (*Bench)(nil)

// New returns usual with brokers.
func New(usual *experiment.Processes, programs Programs, p plan.Plan) *Bench {
	return &Bench{Processes: usual, programs: programs, plan: p}
}

// Kind is the kind of broker that an arm needs to be started; "" if none is, as where
// it runs elsewhere.
func Kind(arm plan.Arm) string {
	w, err := drivers.Find(arm.Protocol)
	if err != nil || arm.Target != "" {
		return ""
	}
	return w.Kind
}

// Check returns InvalidArgument for a plan whose arms and loads do not go together.
func Check(p plan.Plan) error {
	brokers := kinds.OfPlan(p).Run.Cluster
	for i, arm := range p.Arms {
		way, err := drivers.Find(arm.Protocol)
		switch {
		case err != nil && brokers:
			return err
		case err == nil && !brokers:
			return wirelab.Errorf(
				wirelab.InvalidArgument,
				"%s is a message broker: it belongs to the workload messaging, and not to %s; write --workload "+
					"messaging",
				arm.Protocol,
				p.Workload,
			)
		case brokers && arm.Target == "" && !slices.Contains(drivers.Started(), Kind(arm)):
			return wirelab.Errorf(
				wirelab.InvalidArgument,
				"arm %s is of a broker that is not started here: give the address of one that runs, "+
					"%s,target=127.0.0.1:9092",
				arm.Name,
				arm.Protocol,
			)
		case brokers && (arm.Inject != "" || arm.Data != "" || arm.Database != ""):
			return wirelab.Errorf(
				wirelab.InvalidArgument,
				"arms[%d] has inject, data or db, for which a message broker has no place",
				i,
			)
		case brokers:
			if err := way.Check(
				broker.Config{Variant: arm.Queue, Durability: broker.Durability(p.DurabilityOf(arm))},
			); err != nil {
				return fmt.Errorf("arm %s: %w", arm.Name, err)
			}
		}
	}
	return nil
}

// Server implements [experiment.Bench].
func (b *Bench) Server(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	o := cluster.Options{
		Kind: Kind(arm), Nodes: b.plan.Nodes, Durability: broker.Durability(b.plan.DurabilityOf(arm)),
		Variant: arm.Queue,
		CPUs:    b.Placement().ServerCPUs, Programs: b.programs.Programs,
		Small: b.plan.Plays(plan.DiskFull), Apart: b.plan.Plays(plan.Partition),
	}
	s, err := cluster.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	ready := control.Ready{
		Address: strings.Join(s.Addresses(), ","), Broker: s.About(), Guarantee: s.Guarantee(),
	}
	if ready.Stage, err = s.Stage(); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return child(s, ready), nil
}

// Null implements [experiment.Bench].
func (b *Bench) Null(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	s, err := cluster.Start(ctx, cluster.Options{
		Kind: Kind(arm), Nothing: true, Variant: arm.Queue, CPUs: b.Placement().ServerCPUs,
		Programs: b.programs.Programs,
	})
	if err != nil {
		return nil, err
	}
	return child(s, control.Ready{Address: strings.Join(s.Addresses(), ","), Broker: s.About()}), nil
}

// stopLimit is how long a cluster may take to stop.
const stopLimit = 2 * time.Minute

// child is a cluster as a server is one.
func child(s *cluster.Cluster, ready control.Ready) experiment.Child {
	return experiment.Together(s, func() control.Ready { return ready }, stopLimit)
}

// Nulls is a bench whose clusters are null brokers, of which it is known what they do.
type Nulls struct{ *Bench }

// Server implements [experiment.Bench].
func (n Nulls) Server(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	return n.Null(ctx, arm)
}

// Driver implements [experiment.Bench].
func (b *Bench) Driver(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	driver, err := b.Start(ctx, "load generator of "+arm.Name, b.programs.Driver, b.Placement().DriverCPUs)
	if err != nil {
		return nil, err
	}
	return b.keepAwake(ctx, driver)
}
