package part

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/drivers"
	"wirelab/broker/rabbitmq"
	"wirelab/broker/workqueue"
	"wirelab/pipeline/gateway"
	"wirelab/pipeline/health"
	"wirelab/pipeline/path"
	"wirelab/pipeline/stack"
	"wirelab/workload/logging"
)

// gateway runs the gateway.
func (p *part) gateway(ctx context.Context, config stack.Gateway) error {
	paths := map[string]path.Path{}
	add := func(name string, way path.Path, err error) error {
		if err == nil {
			paths[name] = notedPath{way, p.notes, "pass an entry on by " + name}
			p.closers = append(p.closers, way.Close)
		}
		return err
	}
	well := "http://" + config.Watch + "/health"
	for _, published := range []bool{false, true} {
		suffix := ""
		if published {
			if !config.Published {
				continue
			}
			suffix = stack.PublishedSuffix
		}
		o := path.Options{AsPublished: published}
		grpc, err := path.GRPC(config.GRPC, o)
		if err := add("log-grpc"+suffix, watched{grpc, well}, err); err != nil {
			return err
		}
		_ = add("log-http"+suffix, watched{path.HTTP(config.HTTP, o), well}, nil)
		_ = add("log-rpc"+suffix, watched{path.RPC(config.RPC, o), well}, nil)
	}
	for name, q := range config.Queues {
		broker, err := p.broker(ctx, q)
		if err != nil {
			return err
		}
		o := path.Options{PublishedForm: q.PublishedTopology, Ready: func(ctx context.Context) error {
			_, _, err := broker.Depth(ctx, q.Options)
			return err
		}}
		publisher, err := published(ctx, broker, q.Options)
		if err != nil {
			return err
		}
		_ = add(name, path.Queue(publisher, o), nil)
		if config.Published {
			_ = add(name+stack.PublishedSuffix, path.QueuePerCall(broker, q.Options, o), nil)
		}
	}
	absent := map[string]string{}
	for _, name := range gateway.Known() {
		if paths[name] == nil {
			absent[name] = cmp.Or(config.Absent[name], "this pipeline was started without it")
		}
	}
	handler, err := gateway.New(gateway.Options{
		Paths: paths, Absent: absent, Journal: p.journal,
		Origins: config.Origins,
	})
	if err != nil {
		return err
	}
	at, err := p.endpoint(ctx, stack.EndpointHTTP)
	if err != nil {
		return err
	}
	return p.run(ctx, stack.GatewayPart, func(ctx context.Context) error {
		return gateway.Serve(ctx, at, handler, gateway.Timeouts{Drain: wirelab.DefaultDrain})
	})
}

// watched is a path to a logger whose health is served at another address: an open listener does not show that the
// database behind it works (ms-D15).
type watched struct {
	path.Path
	health string // URL
}

// Check implements [path.Path].
func (w watched) Check(ctx context.Context) error {
	if err := w.Path.Check(ctx); err != nil {
		return err
	}
	if err := health.Ask(ctx, w.health); err != nil {
		return fmt.Errorf("the logger: %w", err)
	}
	return nil
}

// published declares a queue, unless its listener does, and returns a publisher to it.
func published(ctx context.Context, broker workqueue.Queues, o workqueue.Options) (workqueue.Publisher, error) {
	if err := broker.Declare(ctx, o); err != nil {
		return nil, err
	}
	return broker.Publisher(ctx, o)
}

// brokerPatience is how long a part that starts waits for a broker that may be restarting.
const brokerPatience = 20 * time.Second

// broker opens a connection to a message broker.
func (p *part) broker(ctx context.Context, q stack.Queue) (workqueue.Queues, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for began := time.Now(); ; {
		broker, err := p.openBroker(ctx, q)
		if err == nil {
			p.closers = append(p.closers, broker.Close)
			return broker, nil
		}
		if wirelab.CodeOf(err) != wirelab.Unavailable || time.Since(began) > brokerPatience {
			return nil, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (p *part) openBroker(ctx context.Context, q stack.Queue) (workqueue.Queues, error) {
	if q.PublishedTopology {
		exchange, err := rabbitmq.OpenExchange(ctx, broker.Config{Addresses: []string{q.URL}, Patient: true},
			rabbitmq.Topology{
				Exchange: stack.PublishedExchange, Key: stack.PublishedKey, Keys: stack.PublishedKeys(),
				NewID: logging.NewID,
			})
		if err != nil {
			return nil, err
		}
		return workqueue.Letterless(exchange, func(err error) { p.notes.Note("keep an entry", err) }), nil
	}
	return drivers.Queues(ctx, q.Broker, q.URL)
}
