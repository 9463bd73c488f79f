package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"wirelab/hermes/gen"
	"wirelab/lab/control"
	"wirelab/lab/target"
)

// floorName is grpc-go by itself: the calls and messages of Hermes' unary door, answered
// by a process of their own that stores nothing. What is below it no broker behind grpc-go can reach.
const floorName = "grpc-floor"

// floorEnvironment tells a child that it is the floor.
const floorEnvironment = "BROKERBENCH_FLOOR"

func isFloorChild(getenv func(string) string) bool { return getenv(floorEnvironment) != "" }

// echo answers each Publish at once.
type echo struct {
	gen.UnimplementedHermesServer
	offset atomic.Uint64
}

// Publish implements [gen.HermesServer].
func (e *echo) Publish(context.Context, *gen.PublishRequest) (*gen.PublishReply, error) {
	n := e.offset.Add(1)
	return &gen.PublishReply{Offset: n, Time: time.Now().UnixNano(), Term: 1, Index: n}, nil
}

// serveFloor is the child's end: a server with grpc-go's defaults, until ctx or its input ends.
func serveFloor(ctx context.Context, input io.Reader, output io.Writer) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends with the input, or with the process
		_, _ = io.Copy(io.Discard, input)
		stop()
	}()
	s := grpc.NewServer()
	gen.RegisterHermesServer(s, &echo{})
	var stopping sync.WaitGroup
	defer stopping.Wait()
	stopping.Go(func() {
		<-ctx.Done()
		s.Stop()
	})
	if err := json.NewEncoder(output).Encode(control.Reply{Ready: &control.Ready{Address: l.Addr().String()}}); err != nil {
		stop()
		return err
	}
	return s.Serve(l)
}

// floor is the parent's end. It has callers and nothing else.
type floor struct{ process *target.Process }

func startFloor(ctx context.Context, self string) (*floor, error) {
	p, err := target.Start(ctx, target.Command{Name: floorName, Path: self, Env: []string{floorEnvironment + "=1"}})
	return &floor{p}, err
}

func (*floor) Name() string { return floorName }
func (*floor) Version() string {
	return "grpc-go " + grpc.Version + " alone, one process that stores nothing"
}
func (*floor) Syncs() bool                            { return false }
func (f *floor) PIDs() []int                          { return []int{f.process.PID()} }
func (f *floor) Stop(context.Context) error           { return f.process.Stop() }
func (f *floor) Topic(context.Context) (topic, error) { return f, nil }
func (*floor) Remove(context.Context) error           { return nil }

var errNoBroker = errors.New("grpc-go alone is no broker")

func (*floor) Stream(context.Context, setting, func(error)) (publisher, error) {
	return nil, errNoBroker
}

func (*floor) Deliver(context.Context, func([]byte)) (func(), error) { return nil, errNoBroker }

func (f *floor) Callers(_ context.Context, n int) ([]publisher, error) {
	return unary(f.process.Ready().Address, "bench", n)
}

// caller calls the unary door by its plain stub, without the client library.
type caller struct {
	stub  gen.HermesClient
	topic string
	conn  *grpc.ClientConn // nil: another closes it
}

// unary is callers that share one connection, as those of NATS do and as who makes one
// stub has it. (Two and four connections cost more CPU a call: what one reads and writes
// at once is less.)
func unary(address, topic string, n int) ([]publisher, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	stub := gen.NewHermesClient(conn)
	all := make([]publisher, n)
	for i := range all {
		all[i] = &caller{stub: stub, topic: topic}
	}
	all[0] = &caller{stub: stub, topic: topic, conn: conn}
	return all, nil
}

func (c *caller) Publish(ctx context.Context, payload []byte) error {
	_, err := c.stub.Publish(ctx, &gen.PublishRequest{Topic: c.topic, Messages: &gen.Message{Payload: payload}})
	return err
}

func (c *caller) Close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is under way
	}
}
