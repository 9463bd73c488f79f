package bench_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"wirelab/broker"
	"wirelab/broker/brokertest"
	"wirelab/broker/drivers"
	"wirelab/broker/null"
	"wirelab/internal/prereq"
	"wirelab/internal/process"
	"wirelab/internal/programtest"
	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/messaging/account"
	"wirelab/lab/messaging/cluster"
	"wirelab/lab/messaging/drive"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/system/nats"
	natsserver "wirelab/system/nats/server"
)

// The arguments that make this program a reader of its own, and a null broker.
const (
	reader     = "read-messages"
	nullBroker = "null-broker"
)

// programs are those of the nodes; Hermes is built once for all tests.
var programs cluster.Programs

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	switch {
	case os.Getenv(nats.Environment) != "":
		return 0, natsserver.Serve(ctx, os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	case len(os.Args) > 2 && os.Args[1] == nullBroker:
		return 0, serveNull(ctx, os.Args[2])
	case len(os.Args) > 1 && os.Args[1] == reader:
		open := drive.Opener(drivers.Open)
		if len(os.Args) > 2 {
			open = openFaulty
		}
		return 0, drive.Read(ctx, open, os.Stdin, os.Stdout)
	}
	dir, err := os.MkdirTemp("", "wirelab-brokers-bench-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	programs = cluster.Programs{NATS: self, Null: process.Command{Path: self, Args: []string{nullBroker}}}
	if programs.Hermes, err = programtest.Build(dir, "hermes"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// serveNull is the null broker of a kind.
func serveNull(ctx context.Context, kind string) error {
	server := null.NATS(null.Options{})
	if kind == drivers.RabbitMQ {
		server = null.AMQP()
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return agent.Part(
		ctx,
		nullBroker,
		func(ctx context.Context) error { return server.Serve(ctx, at) },
		control.Ready{Address: at.Addr().String()},
		os.Stdin,
		os.Stdout,
	)
}

// openFaulty connects to a broker and does wrong by one message in 500 that it
// delivers, in each way.
func openFaulty(ctx context.Context, protocol string, c broker.Config) (broker.Broker, error) {
	b, err := drivers.Open(ctx, protocol, c)
	if err != nil {
		return nil, err
	}
	for _, fault := range brokertest.Faults() {
		b = &brokertest.Faulty{Broker: b, Fault: fault, Every: 500, Sender: sender}
	}
	return b, nil
}

// sender is a message's lane.
func sender(body []byte) uint64 {
	s, _ := account.Read(body)
	return uint64(s.Sequence)
}

// runner is the other end of a driver's lines.
type runner struct {
	*testing.T
	orders  *io.PipeWriter
	replies *process.Reader[control.Reply]
}

func (c *runner) must(o control.Order) control.Reply {
	c.Helper()
	if err := process.WriteLine(c.orders, o); err != nil {
		c.Fatal(err)
	}
	r, err := c.replies.Read()
	if err != nil || r.Error != "" {
		c.Fatal(r.Error, err)
	}
	return r
}

// drives has a driver drive a cluster under one load, at a rate: what is asked of it here
// takes no saturated cluster.
func drives(
	t *testing.T,
	s *cluster.Cluster,
	protocol string,
	o drive.Options,
	what control.Messages,
	rate float64,
) *runner {
	t.Helper()
	in, orders := io.Pipe()
	replies, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := drive.Obey(t.Context(), o, in, out)
		_ = out.Close()
		ended <- err
	}()
	c := &runner{t, orders, process.NewReader[control.Reply](replies)}
	t.Cleanup(func() {
		_ = orders.Close()
		if err := <-ended; err != nil {
			t.Errorf("the driver ended with %v", err)
		}
	})
	if r, err := c.replies.Read(); err != nil || r.Ready == nil {
		t.Fatal(r, err)
	}
	stage, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	addresses := s.Addresses()[0]
	for _, a := range s.Addresses()[1:] {
		addresses += "," + a
	}
	c.must(control.Order{Dial: &control.Dial{
		Workload: "messaging",
		Protocol: protocol,
		Address:  addresses,
		Seed:     1,
		Deadline: plan.Duration(10 * time.Second),
		Broker:   &control.Broker{Durability: plan.DurabilityFsync, Stage: stage},
		Loads: []control.Load{
			{
				Operation:   "Publish",
				InFlight:    64,
				Connections: 1,
				Messages:    what,
				Schedule:    &load.Schedule{Stages: []load.Stage{{From: rate, To: rate}}},
			},
		},
	}})
	return c
}

func clusters(t *testing.T, kind string, nodes int) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s, err := cluster.Start(
		ctx,
		cluster.Options{
			Kind:       kind,
			Nodes:      nodes,
			Durability: broker.Synced,
			Apart:      prereq.FindNamespaces() == nil,
			Small:      prereq.FindMount() == nil,
			Programs:   programs,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	return s
}

// skip leaves a scenario out that does to the machine what is not allowed here.
func skip(t *testing.T, scenario string) {
	t.Helper()
	switch scenario {
	case plan.DiskFull:
		prereq.NeedMount(t)
	case plan.Partition:
		prereq.NeedNamespaces(t)
	}
}

// failing are the scenarios in which something is done to a reader or to the broker.
func failing() []string {
	return append([]string{plan.Crash}, plan.Faults()...)
}

// TestNothingIsLost: what was acknowledged arrives, whatever is done; and what was
// done is told.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	s := clusters(t, drivers.Hermes, 3)
	all := failing()
	if testing.Short() {
		all = []string{plan.Crash}
	}
	for _, scenario := range all {
		t.Run(scenario, func(t *testing.T) {
			skip(t, scenario)
			c := drives(
				t,
				s,
				"hermes-grpc-stream",
				drive.Options{Open: drivers.Open, Outside: []string{reader}},
				control.Messages{Scenario: scenario, Size: 100, Batch: 1, Groups: 1},
				200,
			)
			length := 3 * time.Second
			if scenario == plan.LeaderKill {
				length = 12 * time.Second // long enough to see all as before, on most machines
			}
			var m *result.Messages
			for ; length < 2*time.Minute; length *= 4 {
				m = c.must(control.Order{Slice: &control.Slice{For: plan.Duration(length), Seed: 2}}).Slice.Messages
				if scenario != plan.LeaderKill || len(m.Done) != 1 || m.Done[0].Again != 0 {
					break
				}
			}
			if err := m.Whole(); err != nil {
				t.Error(err)
			}
			if m.Faults() > 0 || m.Acknowledged < 100 {
				t.Errorf("%+v", m)
			}
			if len(m.Done) != 1 || m.Done[0].What != scenario || m.Done[0].Who == "" ||
				m.Done[0].Over <= m.Done[0].Began ||
				m.Done[0].Began < plan.Duration(900*time.Millisecond) {
				t.Errorf("done: %+v", m.Done)
			}
			if again := m.Done[0].Again; again != 0 && again < m.Done[0].Over ||
				again == 0 && scenario == plan.LeaderKill {
				t.Errorf("messages went through again at %v: %+v", again, m.Done)
			}
			if m.Broker == nil || m.Broker.Memory == 0 || m.Broker.Disk == 0 || m.Broker.Network == 0 {
				t.Errorf("the broker used %+v", m.Broker)
			}
		})
	}
}

// TestFaultsAreCaughtThroughFailures: of messages that are lost, doubled, turned and
// changed, one in 500 each, some are seen for what they are though a failure
// excuses others.
func TestFaultsAreCaughtThroughFailures(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute; make test runs it")
	}
	s := clusters(t, drivers.Hermes, 3)
	// What is lost is waited for; a failure of Hermes is over sooner.
	faulty := drive.Options{Open: openFaulty, Outside: []string{reader, "faulty"}, Patience: 4 * time.Second}
	for _, scenario := range failing() {
		t.Run(scenario, func(t *testing.T) {
			skip(t, scenario)
			c := drives(
				t,
				s,
				"hermes-grpc-stream",
				faulty,
				control.Messages{Scenario: scenario, Size: 100, Batch: 20, Groups: 1},
				100,
			)
			var all *result.Messages
			unseen := func() bool {
				return all.Missing == 0 || all.Duplicated == 0 || all.Reordered == 0 || all.Corrupted == 0
			}
			for deadline := time.Now().Add(2 * time.Minute); all == nil ||
				(all.Acknowledged < 5000 || unseen()) && time.Now().Before(deadline); {
				all = all.Add(
					*c.must(control.Order{Slice: &control.Slice{
						For:  plan.Duration(3 * time.Second),
						Seed: 2,
					}}).Slice.Messages,
				)
			}
			if unseen() {
				t.Errorf(
					"of %d messages %d missing, %d duplicated, %d reordered, %d corrupted",
					all.Acknowledged,
					all.Missing,
					all.Duplicated,
					all.Reordered,
					all.Corrupted,
				)
			}
		})
	}
}

// TestNulls: a driver runs before what does nothing as it does before each broker, and
// nothing is lost there either.
func TestNulls(t *testing.T) {
	for _, way := range drivers.All() {
		if way.Kind == drivers.Kafka {
			continue // none is started here
		}
		t.Run(way.Protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			s, err := cluster.Start(ctx, cluster.Options{Kind: way.Kind, Nothing: true, Programs: programs})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			})
			c := drives(
				t,
				s,
				way.Protocol.Name,
				drive.Options{Open: drivers.Open},
				control.Messages{Scenario: plan.Live, Size: 100, Batch: 2, Groups: 2},
				500,
			)
			var m *control.Measured
			// a machine that stands still completes none
			for window := 500 * time.Millisecond; window < time.Minute; window *= 4 {
				m = c.must(control.Order{Slice: &control.Slice{For: plan.Duration(window), Seed: 2}}).Slice
				if m.Recording.CompletedInWindow >= 100 {
					break
				}
			}
			if m.Messages.Faults() > 0 || m.Messages.Unsure > 0 || m.Recording.CompletedInWindow < 100 {
				t.Errorf("%d sends: %+v", m.Recording.CompletedInWindow, m.Messages)
			}
		})
	}
}
