// Package stack runs the log pipeline: broker, logger, listeners and gateway, each a child process. It starts them in
// the order in which they need each other, and stops them in reverse. It knows which components there are, how they
// are connected, and whether they live and are healthy. It must not know what a component does: the program that it
// starts does that. Its command "part" reads from the environment which component it is: a [Config], or the options of
// package nats. RabbitMQ and Hermes are separate programs.
//
// A component can be killed and started again at the same addresses while the others run. Failures are made that way.
package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"wirelab"
	"wirelab/broker/kinds"
	"wirelab/broker/workqueue"
	"wirelab/hermes/local"
	"wirelab/internal/process"
	"wirelab/system/nats"
	"wirelab/system/rabbitmq"
)

// The brokers.
const (
	RabbitMQ   = kinds.RabbitMQ
	NATSServer = kinds.NATS
	Hermes     = kinds.Hermes
)

// Brokers are the kinds of brokers there are.
func Brokers() []string { return kinds.Names() }

// The parts that are always there. A listener's name is "listener-" and its path's
// without "log-": "listener-rabbit", "listener-nats-direct".
const (
	LoggerPart  = "logger"
	GatewayPart = "gateway"
)

// PublishedSuffix is behind the names of paths that do what the published client did.
const PublishedSuffix = "-published"

// QueueName is the queue of a pipeline that names none; that of a listener that
// stores by itself has "-direct" behind.
const QueueName = "wirelab-log"

// Options say what a pipeline is made of.
type Options struct {
	Program string // of the components: wirelab itself
	// Listen has addresses by component and endpoint; other endpoints get any free port of the loopback.
	Listen map[string]map[string]string
	// Database is where the logger keeps entries. Kind "": memory, which no other process shares, so that no listener
	// can store entries itself.
	Database wirelab.DatabaseAddress
	Brokers  []Broker
	// Absent has the reasons why paths are absent, by their names.
	Absent map[string]string
	// Published adds to each path one that does what the published client did.
	Published bool
	// Origins may call the gateway from their pages, such as "http://localhost".
	Origins []string
	Getenv  func(string) string // finds the programs of brokers; nil: os.Getenv
	// CPUs are the cores that the components may run on; nil: any.
	CPUs []int
	// Env is added to the environment of each component that is this program.
	Env []string
	// Stderr gets the error logs of the components that are this program; several goroutines write to it. nil: only the
	// last words of a component are kept.
	Stderr io.Writer
	// Faults leaves peers that are away out of those logs, for runs that end components on purpose.
	Faults bool
	// Say is called with each component once it is ready; nil: it is not called.
	Say func(Part)
}

// Broker is a message broker with its queue and listener.
type Broker struct {
	Kind string // one of [Brokers]
	URL  string // of one that runs elsewhere; "": one is started
	// Queue says how the queue is used; Name "" is [QueueName].
	Queue workqueue.Options
	// Direct adds a second queue, whose listener stores entries itself.
	Direct bool
	// OverHTTP is whether the other listener calls the logger by HTTP, as the published one did, and not by gRPC.
	OverHTTP bool
	// PublishedTopology uses RabbitMQ as the published pipeline does: over a topic exchange to which each listener binds
	// a queue. Such a queue promises nothing, so the promises of Queue do not apply.
	PublishedTopology bool
}

// The exchange of [Broker.PublishedTopology], and the key of entries from here.
const (
	PublishedExchange = "logs_topic"
	PublishedKey      = "log.INFO"
)

// PublishedKeys are the keys that a listener binds.
func PublishedKeys() []string { return []string{PublishedKey, "log.WARNING", "log.ERROR"} }

// Death is a component that ended without being stopped by the stack.
type Death struct {
	Name string
	Err  error // with its last words
}

// Stack is a running pipeline. Start, Restart, Kill, Halt and Stop are for one
// goroutine at a time; the other methods for any.
type Stack struct {
	options Options
	pieces  []piece // in the order of their start
	died    chan Death
	logger  *child
	brokers map[string]func() string // addresses by kind

	trees map[int]*process.Tree // of brokers that were asked what they used, by process

	watching sync.WaitGroup
	mu       sync.Mutex // guards all below
	meant    map[string]bool
}

// Start starts a pipeline and waits until all of it is well. What was started
// before something failed is stopped.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	s := &Stack{options: o, meant: map[string]bool{}, trees: map[int]*process.Tree{}, brokers: map[string]func() string{}}
	if err := s.plan(); err != nil {
		return nil, err
	}
	s.died = make(chan Death, 2*len(s.pieces)) // room for two deaths of each: see watch
	for _, p := range s.pieces {
		if err := s.begin(ctx, p); err != nil {
			return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}
	return s, nil
}

// plan makes the pieces, in order.
func (s *Stack) plan() error {
	o := s.options
	for _, b := range o.Brokers {
		if err := s.planBroker(b); err != nil {
			return err
		}
	}
	s.logger = &child{
		name: LoggerPart, program: o.Program, env: o.Env, cpus: o.CPUs, stderr: o.Stderr,
		endpoints: []string{EndpointHTTP, EndpointGRPC, EndpointRPC, EndpointWatch}, healthy: EndpointWatch,
		configure: func() Config {
			return Config{Faults: o.Faults, Listen: o.Listen[LoggerPart], Logger: &Logger{Database: o.Database}}
		},
	}
	s.pieces = append(s.pieces, s.logger)
	for _, b := range o.Brokers {
		for _, direct := range []bool{false, true} {
			if direct && !b.Direct {
				continue
			}
			s.pieces = append(s.pieces, s.listener(b, direct))
		}
	}
	s.pieces = append(s.pieces, &child{
		name: GatewayPart, program: o.Program, env: o.Env, cpus: o.CPUs, stderr: o.Stderr, endpoints: []string{EndpointHTTP},
		healthy: EndpointHTTP,
		configure: func() Config {
			return Config{Faults: o.Faults, Listen: o.Listen[GatewayPart], Gateway: s.gateway()}
		},
	})
	return nil
}

// planBroker makes the piece of a broker, unless it runs elsewhere.
func (s *Stack) planBroker(b Broker) error {
	if b.Direct && s.options.Database.Kind == "" {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"a listener cannot store in the logger's memory: give it a database")
	}
	if b.PublishedTopology && (b.Kind != RabbitMQ || b.Direct) {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"the published topology is RabbitMQ's, with one listener that hands on to the logger")
	}
	if s.brokers[b.Kind] != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "broker %s is named twice", b.Kind)
	}
	if b.URL != "" {
		s.brokers[b.Kind] = func() string { return b.URL }
		return nil
	}
	kind, err := kinds.Find(b.Kind)
	if err != nil {
		return err
	}
	r := &served{name: b.Kind, product: kind.Product}
	switch b.Kind {
	case RabbitMQ:
		r.endpoint = EndpointAMQP
		r.make = func(ctx context.Context) (server, error) {
			return rabbitmq.Start(ctx, rabbitmq.Options{Getenv: s.options.Getenv, CPUs: s.options.CPUs})
		}
	case NATSServer:
		r.endpoint = EndpointNATS
		r.make = func(ctx context.Context) (server, error) {
			return startNATS(ctx, s.options)
		}
	case Hermes:
		r.endpoint = EndpointGRPC
		r.make = func(ctx context.Context) (server, error) { return startHermes(ctx, s.options) }
	default:
		return wirelab.Errorf(wirelab.Unimplemented, "no %s is started here; give the URL of one that runs",
			kind.Product)
	}
	s.brokers[b.Kind] = r.url
	s.pieces = append(s.pieces, r)
	return nil
}

// startNATS starts one server.
func startNATS(ctx context.Context, o Options) (server, error) {
	found, err := nats.Find(ctx, o.Getenv)
	if err != nil {
		return nil, err
	}
	made, err := nats.Start(ctx, process.Command{Name: NATSServer, Path: found.Program, Env: o.Env, CPUs: o.CPUs},
		nats.Options{})
	if err != nil {
		return nil, err // not made: an interface of a nil pointer is not nil
	}
	return made, nil
}

// startHermes starts one node, as of the others there is one server: what they
// promise is then the same, a disk of one machine.
func startHermes(ctx context.Context, o Options) (server, error) {
	found, err := local.Find(ctx, o.Getenv)
	if err != nil {
		return nil, err
	}
	made, err := local.StartServer(ctx, found, o.CPUs)
	if err != nil {
		return nil, err // not made: an interface of a nil pointer is not nil
	}
	return made, nil
}

// PathName is the gateway's path to a broker: "log-rabbit", "log-nats-direct", "log-hermes".
func PathName(broker string, direct bool) string {
	name := "log-" + broker
	if kind, err := kinds.Find(broker); err == nil {
		name = "log-" + kind.Path
	}
	if direct {
		name += "-direct"
	}
	return name
}

// ListenerName is the part that listens behind a path.
func ListenerName(broker string, direct bool) string {
	return "listener-" + PathName(broker, direct)[len("log-"):]
}

func (s *Stack) queue(b Broker, direct bool) Queue {
	q := b.Queue
	if q.Name == "" {
		q.Name = QueueName
	}
	if direct {
		q.Name += "-direct"
	}
	return Queue{Broker: b.Kind, URL: s.brokers[b.Kind](), Options: q, PublishedTopology: b.PublishedTopology}
}

func (s *Stack) listener(b Broker, direct bool) piece {
	name := ListenerName(b.Kind, direct)
	return &child{
		name: name, program: s.options.Program, env: s.options.Env, cpus: s.options.CPUs, stderr: s.options.Stderr,
		endpoints: []string{EndpointWatch}, healthy: EndpointWatch,
		configure: func() Config {
			l := &Listener{Queue: s.queue(b, direct)}
			endpoints := s.logger.part().Endpoints
			switch {
			case direct:
				l.Database = &s.options.Database
			case b.OverHTTP:
				l.HTTP = endpoints[EndpointHTTP]
			default:
				l.GRPC = endpoints[EndpointGRPC]
			}
			return Config{Faults: s.options.Faults, Listen: s.options.Listen[name], Listener: l}
		},
	}
}

func (s *Stack) gateway() *Gateway {
	endpoints := s.logger.part().Endpoints
	g := &Gateway{
		HTTP: endpoints[EndpointHTTP], GRPC: endpoints[EndpointGRPC], RPC: endpoints[EndpointRPC],
		Watch:  endpoints[EndpointWatch],
		Queues: map[string]Queue{}, Published: s.options.Published, Absent: s.options.Absent,
		Origins: s.options.Origins,
	}
	for _, b := range s.options.Brokers {
		g.Queues[PathName(b.Kind, false)] = s.queue(b, false)
		if b.Direct {
			g.Queues[PathName(b.Kind, true)] = s.queue(b, true)
		}
	}
	return g
}

// begin starts a piece and watches over it.
func (s *Stack) begin(ctx context.Context, p piece) error {
	name := p.part().Name
	s.mean(name, true) // what runs of it is being replaced
	if err := p.start(ctx); err != nil {
		return err
	}
	s.mean(name, false)
	if s.options.Say != nil {
		s.options.Say(p.part())
	}
	if over := p.over(); over != nil {
		s.watching.Go(func() { s.watch(p, over) })
	}
	return nil
}

// watch waits for the end of what runs and tells, unless it was meant.
func (s *Stack) watch(p piece, over <-chan struct{}) {
	<-over
	name := p.part().Name
	if s.isMeant(name) {
		return
	}
	err := p.ended()
	if err == nil {
		return // it was being ended just then
	}
	select {
	case s.died <- Death{Name: name, Err: err}:
	default:
		// No one reads Died. It holds two deaths of each component already.
	}
}

func (s *Stack) mean(name string, meant bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meant[name] = meant
}

func (s *Stack) isMeant(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meant[name]
}

// Died returns the components that ended without being stopped by the stack.
func (s *Stack) Died() <-chan Death { return s.died }

// Parts are the parts as they are now, in the order of their start.
func (s *Stack) Parts() []Part {
	parts := make([]Part, len(s.pieces))
	for i, p := range s.pieces {
		parts[i] = p.part()
	}
	return parts
}

// Paths are the gateway's paths that lead somewhere, in order.
func (s *Stack) Paths() []string {
	paths := []string{"log-http", "log-grpc", "log-rpc"}
	for _, b := range s.options.Brokers {
		paths = append(paths, PathName(b.Kind, false))
		if b.Direct {
			paths = append(paths, PathName(b.Kind, true))
		}
	}
	if s.options.Published {
		for _, path := range slices.Clone(paths) {
			paths = append(paths, path+PublishedSuffix)
		}
	}
	return paths
}

// Part returns a part by name; InvalidArgument, with those there are, where there is none.
func (s *Stack) Part(name string) (Part, error) {
	p, err := s.find(name)
	if err != nil {
		return Part{}, err
	}
	return p.part(), nil
}

func (s *Stack) find(name string) (piece, error) {
	var known []string
	for _, p := range s.pieces {
		if p.part().Name == name {
			return p, nil
		}
		known = append(known, p.part().Name)
	}
	return nil, wirelab.UnknownName("part of the pipeline", name, known)
}

// Kill ends a part at once, as kill -9 does; a broker with all its processes.
func (s *Stack) Kill(ctx context.Context, name string) error {
	p, err := s.find(name)
	if err != nil {
		return err
	}
	s.mean(name, true)
	return p.kill(ctx)
}

// Halt ends a component gracefully. RabbitMQ is killed.
func (s *Stack) Halt(ctx context.Context, name string) error {
	p, err := s.find(name)
	if err != nil {
		return err
	}
	s.mean(name, true)
	return p.stop(ctx)
}

// Restart starts a component again, at the same addresses and with its data, and waits until it is healthy. One that
// runs is stopped gracefully before.
func (s *Stack) Restart(ctx context.Context, name string) error {
	p, err := s.find(name)
	if err != nil {
		return err
	}
	if err := s.begin(ctx, p); err != nil {
		return fmt.Errorf("start it again: %w", err)
	}
	return nil
}

// Stop stops all parts, the last first; brokers that were started here take with them what they kept. It returns
// how those ended that did not end well.
func (s *Stack) Stop(ctx context.Context) error {
	var all error
	for _, p := range slices.Backward(s.pieces) {
		s.mean(p.part().Name, true)
		all = errors.Join(all, p.close(ctx))
	}
	s.watching.Wait()
	return all
}
