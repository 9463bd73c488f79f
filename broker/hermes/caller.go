package hermes

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"wirelab"
	"wirelab/broker"
	"wirelab/hermes"
	api "wirelab/hermes/broker"
	"wirelab/hermes/gen"
	wiregrpc "wirelab/wire/grpc"
)

// refusedPause is how long a caller waits after it could not reach a node, so that a loop of calls does not spin
// while a cluster has no leader.
const refusedPause = 10 * time.Millisecond

// turns selects the node to call: the same one until it fails.
type turns struct {
	at    atomic.Int64
	count int
}

func (t *turns) now() int { return int(t.at.Load()) % t.count }

// next moves on from a node that could not be reached, unless another call has done so.
func (t *turns) next(from int) {
	at := t.at.Load()
	if int(at)%t.count == from {
		t.at.CompareAndSwap(at, at+1)
	}
}

// failed handles a send without a good answer. It is not retried: without a producer's number it could be stored
// twice.
func (t *turns) failed(ctx context.Context, node int, err error) error {
	switch wirelab.CodeOf(err) {
	case wirelab.Unavailable, wirelab.DeadlineExceeded, wirelab.Internal:
		t.next(node)
		pause := time.NewTimer(refusedPause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	return err
}

// caller publishes by unary calls, over one connection to each node that it uses.
type caller struct {
	turns
	conns []*grpc.ClientConn
	stubs []gen.HermesClient
	mode  hermes.Mode
}

func newCaller(b *Broker, members []api.Member) (broker.Publisher, error) {
	c := &caller{mode: b.mode}
	for _, m := range members {
		conn, err := wiregrpc.Dial(wirelab.Dialing{Address: m.GRPC, Connect: b.config.Connect}, false)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.conns, c.stubs = append(c.conns, conn), append(c.stubs, gen.NewHermesClient(conn))
	}
	c.count = len(c.stubs)
	return c, nil
}

// Calls implements [broker.Publisher].
func (*caller) Calls() bool { return true }

// Send implements [broker.Publisher].
func (c *caller) Send(ctx context.Context, topic string, batch []broker.Message, done func(broker.Receipt, error)) {
	node := c.now()
	if err := c.call(ctx, c.stubs[node], topic, batch); err != nil {
		done(broker.Receipt{}, c.failed(ctx, node, wiregrpc.Decode(err)))
		return
	}
	done(broker.Receipt{}, nil)
}

func (c *caller) call(ctx context.Context, stub gen.HermesClient, topic string, batch []broker.Message) error {
	if len(batch) == 1 {
		_, err := stub.Publish(ctx, &gen.PublishRequest{
			Topic: topic, Messages: wireMessage(&batch[0]), Mode: gen.Mode(c.mode),
		})
		return err
	}
	run := &gen.Run{Topic: topic, Mode: gen.Mode(c.mode)}
	for i := range batch {
		run.Messages = append(run.Messages, wireMessage(&batch[i]))
	}
	reply, err := stub.PublishBatch(ctx, &gen.PublishBatchRequest{Runs: []*gen.Run{run}})
	if err != nil {
		return err
	}
	for _, v := range reply.GetVerdicts() {
		if v.GetError() != nil {
			code, _ := wirelab.ParseCode(v.GetError().GetCode())
			return wirelab.Errorf(code, "%s", v.GetError().GetMessage())
		}
	}
	return nil
}

// wireMessage converts a message for gRPC.
func wireMessage(m *broker.Message) *gen.Message {
	w := &gen.Message{Payload: m.Body}
	if m.ID != "" {
		w.Key = []byte(m.ID)
	}
	return w
}

// Away implements [broker.Publisher]: the state is unknown until a call is made.
func (*turns) Away() (<-chan struct{}, error) { return nil, nil }

// Close implements [broker.Publisher].
func (c *caller) Close() (all error) {
	for _, conn := range c.conns {
		all = errors.Join(all, conn.Close())
	}
	return all
}
