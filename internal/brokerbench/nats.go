package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab/lab/target"
	"wirelab/system/nats"
)

// natsSync is NATS's own default for how often it brings what it wrote to the disk.
const natsSync = 2 * time.Minute

// natsRival is NATS JetStream with streams of three copies.
type natsRival struct {
	cluster *nats.Cluster
	every   time.Duration // between fsyncs; 0: before each acknowledgement
	made    atomic.Int64
}

func startNATS(ctx context.Context, self string, every time.Duration) (*natsRival, error) {
	c, err := nats.StartCluster(ctx, target.Command{Path: self}, nats.Options{SyncEvery: every}, nodes)
	return &natsRival{cluster: c, every: every}, err
}

func (r *natsRival) Name() string {
	if r.every == 0 {
		return "nats-always"
	}
	return "nats-default"
}

func (r *natsRival) Version() string { return "NATS " + r.cluster.Nodes()[0].Version() }
func (r *natsRival) Syncs() bool     { return r.every == 0 }

func (r *natsRival) Stop(ctx context.Context) error { return r.cluster.Stop(ctx) }

// PIDs implements [rival].
func (r *natsRival) PIDs() (all []int) {
	for _, n := range r.cluster.Nodes() {
		all = append(all, n.PID())
	}
	return all
}

// dial connects to the server of an index; none: any.
func (r *natsRival) dial(at int) (jetstream.JetStream, *client.Conn, error) {
	url := r.cluster.URL()
	if at >= 0 {
		url = r.cluster.Nodes()[at].URL()
	}
	conn, err := client.Connect(url, client.Timeout(patience), client.MaxReconnects(-1))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	return js, conn, err
}

func (r *natsRival) Topic(ctx context.Context) (topic, error) {
	js, conn, err := r.dial(-1)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("bench-%d", r.made.Add(1))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}, Replicas: nodes, Storage: jetstream.FileStorage})
	if err != nil {
		conn.Close()
		return nil, err
	}
	t := &natsTopic{rival: r, js: js, conn: conn, name: name, leader: -1}
	// Its clients ask the server that leads, which saves a hop.
	if info := stream.CachedInfo(); info.Cluster != nil {
		for i := range r.cluster.Nodes() {
			if nats.MemberName(i) == info.Cluster.Leader {
				t.leader = i
			}
		}
	}
	return t, nil
}

type natsTopic struct {
	rival  *natsRival
	js     jetstream.JetStream
	conn   *client.Conn
	name   string
	leader int
}

func (t *natsTopic) Remove(ctx context.Context) error {
	defer t.conn.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.js.DeleteStream(ctx, t.name)
}

// natsStream publishes over several connections in turns.
type natsStream struct {
	topic *natsTopic
	conns []*client.Conn
	ways  []jetstream.JetStream
	next  int
	// open are the acknowledgements that are waited for, in the order they were asked
	// for, which is nearly that in which they come: one goroutine for all costs less
	// than the library's one a message.
	open      chan jetstream.PubAckFuture
	listening sync.WaitGroup
}

func (t *natsTopic) Stream(_ context.Context, s setting, acked func(error)) (publisher, error) {
	p := &natsStream{topic: t, open: make(chan jetstream.PubAckFuture, s.Window)}
	p.listening.Go(func() {
		for future := range p.open {
			select {
			case <-future.Ok():
				acked(nil)
			case err := <-future.Err():
				acked(err)
			}
		}
	})
	for range s.Connections {
		_, conn, err := t.rival.dial(t.leader)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.conns = append(p.conns, conn)
		js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(s.Window), jetstream.WithPublishAsyncTimeout(patience))
		if err != nil {
			p.Close()
			return nil, err
		}
		p.ways = append(p.ways, js)
	}
	return p, nil
}

func (p *natsStream) Publish(ctx context.Context, payload []byte) error {
	p.next++
	future, err := p.ways[p.next%len(p.ways)].PublishAsync(p.topic.name, payload, jetstream.WithStallWait(patience))
	if err != nil {
		return err
	}
	select {
	case p.open <- future:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *natsStream) Close() {
	close(p.open)
	p.listening.Wait() // all come, or time out
	for _, c := range p.conns {
		c.Close()
	}
}

// natsCaller is one of those that wait, over a connection that they share.
type natsCaller struct {
	topic *natsTopic
	js    jetstream.JetStream
	conn  *client.Conn // nil: another closes it
}

func (t *natsTopic) Callers(_ context.Context, n int) ([]publisher, error) {
	js, conn, err := t.rival.dial(t.leader)
	if err != nil {
		return nil, err
	}
	all := make([]publisher, n)
	for i := range all {
		all[i] = &natsCaller{topic: t, js: js}
	}
	all[0] = &natsCaller{topic: t, js: js, conn: conn}
	return all, nil
}

func (c *natsCaller) Publish(ctx context.Context, payload []byte) error {
	_, err := c.js.Publish(ctx, c.topic.name, payload)
	return err
}

func (c *natsCaller) Close() {
	if c.conn != nil {
		c.conn.Close()
	}
}

func (t *natsTopic) Deliver(ctx context.Context, got func([]byte)) (func(), error) {
	return t.consume(ctx, jetstream.DeliverNewPolicy, got)
}

// Replay implements replayer.
func (t *natsTopic) Replay(ctx context.Context, got func([]byte)) (func(), error) {
	return t.consume(ctx, jetstream.DeliverAllPolicy, got)
}

func (t *natsTopic) consume(ctx context.Context, from jetstream.DeliverPolicy, got func([]byte)) (func(), error) {
	js, conn, err := t.rival.dial(t.leader)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	consumer, err := js.CreateConsumer(ctx, t.name, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: from, Replicas: 1, MemoryStorage: true})
	if err != nil {
		conn.Close()
		return nil, err
	}
	consuming, err := consumer.Consume(func(m jetstream.Msg) { got(m.Data()) }, jetstream.PullMaxMessages(5000))
	if err != nil {
		conn.Close()
		return nil, err
	}
	return func() {
		consuming.Stop()
		<-consuming.Closed()
		conn.Close()
	}, conn.Flush()
}

// isNATSChild tells whether this process is to be a server.
func isNATSChild(getenv func(string) string) bool {
	return strings.TrimSpace(getenv(nats.Environment)) != ""
}

var errRefused = errors.New("the broker refused a message")
