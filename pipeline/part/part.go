// Package part runs the parts of the log pipeline: gateway, listener and logger, each at its addresses, with its
// broker, its database and its journal. It knows the configuration of a part in package stack. It must not know how
// a part is started, or what asks it to end.
package part

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/pipeline/errlog"
	"wirelab/pipeline/health"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/listener"
	"wirelab/pipeline/logger"
	"wirelab/pipeline/path"
	"wirelab/pipeline/stack"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// lookEvery is the interval of the checks for a broker that may be restarting.
const lookEvery = 200 * time.Millisecond

// Ready is what a part reports once it can be used.
type Ready struct {
	Endpoints map[string]string // addresses, by name
	About     string            // what it depends on, with versions
}

// Child runs the work of a part that is ready, until the process that started the part asks it to end.
type Child func(ctx context.Context, name string, work func(context.Context) error, ready Ready) error

// Run runs a part until ctx or child ends it. Failures inside it are logged to errs.
func Run(ctx context.Context, name string, config stack.Config, errs io.Writer, child Child) error {
	p := &part{child: child, listen: config.Listen, journal: journal.New(0), ready: Ready{Endpoints: map[string]string{}}}
	p.notes = errlog.New(errs, errlog.Options{Part: name, Faults: config.Faults, Secrets: secrets(config)})
	p.closers = append(p.closers, p.notes.Close)
	var err error
	switch {
	case config.Logger != nil:
		err = p.logger(ctx, *config.Logger)
	case config.Listener != nil:
		err = p.listener(ctx, *config.Listener)
	case config.Gateway != nil:
		err = p.gateway(ctx, *config.Gateway)
	}
	return fault.Both(err, p.close())
}

// part is what all parts have in common.
type part struct {
	child   Child
	listen  map[string]string // the addresses to listen at
	journal *journal.Journal
	notes   *errlog.Notes
	ready   Ready
	closers []func() error // of opened resources, in order
}

// endpoint opens a listener.
func (p *part) endpoint(ctx context.Context, name string) (net.Listener, error) {
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.listen[name])
	if err != nil {
		return nil, fault.Listen(p.listen[name], "address", err)
	}
	p.ready.Endpoints[name] = at.Addr().String()
	p.closers = append(p.closers, func() error {
		if err := at.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil // already closed by its server
	})
	return at, nil
}

// about adds a dependency of the part, with its version.
func (p *part) about(what string) {
	if p.ready.About != "" {
		what = p.ready.About + ", " + what
	}
	p.ready.About = what
}

// close closes the opened resources, the last one first.
func (p *part) close() error {
	var all error
	for _, end := range slices.Backward(p.closers) {
		all = errors.Join(all, end())
	}
	return all
}

// run reports the part as ready and runs the work.
func (p *part) run(ctx context.Context, name string, work func(context.Context) error) error {
	return p.child(ctx, name, work, p.ready)
}

// database opens the store of the entries.
func (p *part) database(ctx context.Context, at wirelab.DatabaseAddress) (logging.Service, error) {
	work := bind.Workload()
	if at.Kind == "" {
		p.about(wirelab.Memory)
		return work.New(), nil
	}
	if at.Pool == 0 {
		at.Pool = wirelab.PoolSize
	}
	for _, d := range work.Databases {
		if d.Name != at.Kind {
			continue
		}
		opened, err := d.Open(ctx, at, "")
		if err != nil {
			return nil, err
		}
		p.closers = append(p.closers, opened.Close)
		p.about(opened.About)
		return opened.Service, nil
	}
	return nil, wirelab.Errorf(wirelab.NotFound, "there is no database %s", at.Kind)
}

// logger runs the logger with its listeners.
func (p *part) logger(ctx context.Context, config stack.Logger) error {
	service, err := p.database(ctx, config.Database)
	if err != nil {
		return err
	}
	o := logger.Options{Service: noted{service, p.notes}, Journal: p.journal}
	for endpoint, protocol := range map[string]string{
		stack.EndpointHTTP: "http1-json", stack.EndpointGRPC: "grpc",
		stack.EndpointRPC: "netrpc",
	} {
		at, err := p.endpoint(ctx, endpoint)
		if err != nil {
			return err
		}
		server, err := serverOf(protocol)
		if err != nil {
			return err
		}
		o.Endpoints = append(o.Endpoints, logger.Endpoint{Name: endpoint, Listener: at, Server: server})
	}
	if o.Watch, err = p.endpoint(ctx, stack.EndpointWatch); err != nil {
		return err
	}
	return p.run(ctx, stack.LoggerPart, func(ctx context.Context) error { return logger.Serve(ctx, o) })
}

// serverOf returns the usual server of the logger over a protocol.
func serverOf(protocol string) (wirelab.Server[logging.Service], error) {
	for _, b := range bind.Bindings() {
		if b.Protocol.Name == protocol && len(b.Servers) > 0 {
			return b.Servers[0], nil
		}
	}
	return wirelab.Server[logging.Service]{}, fmt.Errorf("nothing serves logging over %s", protocol)
}

// listener runs the listener of a queue.
func (p *part) listener(ctx context.Context, config stack.Listener) error {
	broker, err := p.broker(ctx, config.Queue)
	if err != nil {
		return err
	}
	p.about(broker.Name())
	o := listener.Options{Broker: broker, Queue: config.Queue.Options, Journal: p.journal}
	check := health.Check{Name: "logger"}
	switch {
	case config.Database != nil:
		service, err := p.database(ctx, *config.Database)
		if err != nil {
			return err
		}
		o.Sink, check = listener.Into(logger.Journalled(noted{service, p.notes}, p.journal)), logger.Check(service)
	default:
		way, err := onward(config)
		if err != nil {
			return err
		}
		p.closers = append(p.closers, way.Close)
		way = notedPath{way, p.notes, "hand an entry to the logger"}
		o.Sink = func(ctx context.Context, entry logging.Entry) error {
			_, err := way.Log(ctx, entry)
			return err
		}
		check.Ask = way.Check
	}
	watch, err := p.endpoint(ctx, stack.EndpointWatch)
	if err != nil {
		return err
	}
	queued := health.Check{Name: "broker", Ask: func(ctx context.Context) error {
		if _, _, err := broker.Depth(ctx, config.Queue.Options); err != nil {
			return err
		}
		// It is not enough that the queue exists: an accepted message waits until a consumer is there, and a new
		// queue may not be written to disk yet.
		if !broker.Consuming(config.Queue.Options) {
			return wirelab.Errorf(wirelab.Unavailable, "nothing is taken from the queue yet")
		}
		return nil
	}}
	return p.run(ctx, "listener", func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		watching := make(chan error, 1)
		go func() {
			err := health.Serve(ctx, watch, health.Handler(p.journal, queued, check), wirelab.DefaultDrain)
			stop() // has an effect only if this one failed
			watching <- err
		}()
		err := listener.Run(ctx, o)
		p.notes.Note("take from the queue", err)
		stop()
		return fault.Both(err, <-watching)
	})
}

// onward returns the path to the logger that a listener uses.
func onward(config stack.Listener) (path.Path, error) {
	if config.HTTP != "" {
		// As many connections as handlers, so that none waits for another.
		return path.HTTP(config.HTTP, path.Options{Connections: config.Queue.Options.Complete().Prefetch}), nil
	}
	return path.GRPC(config.GRPC, path.Options{})
}
