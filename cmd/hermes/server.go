package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/access"
	"wirelab/hermes/api/console"
	"wirelab/hermes/api/graphql"
	"wirelab/hermes/api/grpc"
	"wirelab/hermes/api/intake"
	"wirelab/hermes/api/register"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/descriptors"
	"wirelab/hermes/metrics"
	"wirelab/hermes/node"
	"wirelab/hermes/wal"
	"wirelab/internal/fault"
	"wirelab/wire/acceptloop"
	"wirelab/wire/endpoint"
)

// Bounds on a start and a stop.
const (
	joinLimit = time.Minute
	stopLimit = 10 * time.Second
)

func newServerCommand(a *app) *cobra.Command {
	var c config
	var controlled bool
	command := &cobra.Command{
		Use:   "server",
		Short: "Run a node until Ctrl-C",
		Long: `Server runs one node of Hermes: a single node, a node of a new cluster (--member, the
same list for each node), or a node that joins a cluster (--join). These flags count
at the first start only. A node with a log in its data directory continues with it.

You can give each setting as a flag (--data-dir), as a variable ($HERMES_DATA_DIR)
or in the file that --config or $HERMES_CONFIG names (data_dir). A flag overrides
the variable, and the variable overrides the file. An unknown name in the file is
an error. "hermes config" prints all settings.

A node listens on 127.0.0.1. To listen beyond this machine, give it TLS and a policy
(--policy; see also hermes token), or --insecure. If a node cannot write to its
disk, or was removed from its cluster, it ends with exit code 1. Find the reason
before you start it again.`,
		Example: `  hermes server --data-dir /var/lib/hermes
  hermes server --id 1 --data-dir n1 --member 1@10.0.0.1:6000,10.0.0.1:50051 \
      --member 2@10.0.0.2:6000,10.0.0.2:50051 --member 3@10.0.0.3:6000,10.0.0.3:50051
  hermes server --id 4 --data-dir n4 --join 10.0.0.1:6000 --peer-listen 10.0.0.4:6000
  hermes server --config hermes.yaml`,
		Args: cli.Arguments(0, 0, "no arguments"),
	}
	c.register(command.Flags())
	command.Flags().BoolVar(&controlled, "controlled", false,
		"end when standard input does (a child of hermes cluster)")
	if err := command.Flags().MarkHidden("controlled"); err != nil {
		panic(err) // the flag is named one line above
	}
	asJSON := cli.JSONFlag(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := a.settle(command.Context(), command.Flags()); err != nil {
			return err
		}
		if c.dataDir == "" {
			return cli.Usage("say where the log goes: --data-dir; or use hermes dev to try things")
		}
		ctx := command.Context()
		if controlled {
			var stop context.CancelFunc
			ctx, stop = a.controlled(ctx)
			defer stop()
		}
		return a.serve(ctx, c, *asJSON)
	}
	return command
}

// controlled is a context that ends with standard input too, as a child's does.
func (a *app) controlled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() { // ends with the process: nothing else ends a read of standard input
		_, _ = io.Copy(io.Discard, a.Stdin)
		stop()
	}()
	return ctx, stop
}

func newDevCommand(a *app) *cobra.Command {
	c := config{}
	command := &cobra.Command{
		Use:   "dev",
		Short: "Run one node, to try things out",
		Long: `Dev runs a single node, on this machine only. Its data is deleted when it ends,
unless you give --data-dir. It has the settings of hermes server.`,
		Example: "  hermes dev\n  hermes dev --data-dir ./data --grpc-listen 127.0.0.1:0",
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	c.register(command.Flags())
	asJSON := cli.JSONFlag(command)
	command.RunE = func(command *cobra.Command, _ []string) (err error) {
		if err := a.settle(command.Context(), command.Flags()); err != nil {
			return err
		}
		if len(c.members) > 0 || len(c.join) > 0 {
			return cli.Usage("dev is for a node alone; hermes server and hermes cluster have others")
		}
		if f := command.Flags().Lookup("log-level"); f.Value.String() == f.DefValue {
			c.logLevel = "warn" // how one node elects itself is no news
		}
		if c.dataDir == "" {
			if c.dataDir, err = os.MkdirTemp("", "hermes-dev-"); err != nil {
				return fmt.Errorf("data: %w", err)
			}
			defer func() { err = errors.Join(err, os.RemoveAll(c.dataDir)) }()
		}
		return a.serve(command.Context(), c, *asJSON)
	}
	return command
}

// running is what "server --json" says once it runs.
type running struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Cluster string `json:"cluster"`
	Peer    string `json:"peer"`
	GRPC    string `json:"grpc"`
	HTTP    string `json:"http"`
	Data    string `json:"data"`
	PID     int    `json:"pid"`
}

// listeners are a node's listeners.
type listeners struct {
	peer, grpc, http net.Listener
	counts           map[string]func() metrics.Connections // by what the listener is for
	intake           *intake.Intake                        // of all of them
}

func (d *listeners) open(c *config, logger *slog.Logger) error {
	bounds, err := c.bounds(descriptors.Limit())
	if err != nil {
		return err
	}
	d.counts = map[string]func() metrics.Connections{}
	var config net.ListenConfig
	for _, listener := range []struct {
		name, at string
		l        *net.Listener
		limits   acceptloop.Limits
	}{
		{"peer", c.peerListen, &d.peer, bounds.peer},
		{"grpc", c.grpcListen, &d.grpc, bounds.clients},
		{"http", c.httpListen, &d.http, bounds.clients},
	} {
		if listener.at == "" {
			continue // no one is to come
		}
		l, err := config.Listen(context.Background(), "tcp", listener.at)
		if err != nil {
			return fault.Both(fault.Listen(listener.at, "--"+listener.name+"-listen", err), d.close())
		}
		listener.limits.Told = func(from net.Addr, why string) {
			logger.Warn("a connection was closed", "port", listener.name, "address", from, "why", why)
		}
		limited := acceptloop.Limit(l, listener.limits)
		*listener.l = limited
		d.counts[listener.name] = func() metrics.Connections { return metrics.Connections(limited.Counts()) }
	}
	return nil
}

// close closes the open listeners; listeners that others closed are no error.
func (d *listeners) close() error {
	var all error
	for _, l := range []net.Listener{d.peer, d.grpc, d.http} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// serve runs a node until ctx ends or the node fails.
func (a *app) serve(ctx context.Context, c config, asJSON bool) (err error) {
	alone := c.alone()
	members, err := c.roster()
	if err != nil {
		return err
	}
	if alone {
		c.peerListen = ""
	}
	logger, flush, err := c.logger(a.Stderr)
	if err != nil {
		return err
	}
	defer flush()
	o, err := c.options(ctx, members, logger)
	if err != nil {
		return err
	}
	var secured [2]*tls.Config // of gRPC and of HTTP; before anything is open
	if secured[0], secured[1], err = c.listenerTLS(ctx, logger); err != nil {
		return err
	}
	var d listeners
	if err := d.open(&c, logger); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if o.Self, err = c.self(&d); err != nil {
		return err
	}
	policy, err := c.guard(ctx, &d)
	if err != nil {
		return err
	}
	o.Listener = d.peer
	c.warn(logger, &d)
	defer a.collect(c.memory)()
	d.intake = intake.New(intake.Options{Bytes: int64(c.requests)})
	seen := metrics.Options{Topics: c.metricTopics, Listeners: d.counts, Requests: func() metrics.Requests {
		n := d.intake.Counts()
		return metrics.Requests{Bytes: n.Bytes, Full: n.Refused, Stalled: n.Ended}
	}}
	if policy != nil {
		seen.Visible = policy.Numbers
	}
	numbers := metrics.New(seen)
	o.Observer = numbers
	opening, cancel := context.WithTimeout(ctx, joinLimit)
	n, err := node.Open(opening, o)
	cancel()
	if err != nil {
		return err
	}
	serving, err := c.apis(n, numbers, &d, policy, secured, logger)
	if err != nil {
		return errors.Join(err, closeNode(ctx, n))
	}
	r := running{
		ID: c.id, Name: c.name, Cluster: c.cluster, Peer: o.Self.Peer, GRPC: d.grpc.Addr().String(),
		HTTP: d.http.Addr().String(), Data: c.dataDir, PID: os.Getpid(),
	}
	if err := a.say(r, asJSON); err != nil {
		return errors.Join(err, closeNode(ctx, n))
	}
	a.Idle(ctx, "stopping the node")
	return a.hold(ctx, n, serving)
}

// warn warns of open listeners that may not be meant to be open.
func (c *config) warn(logger *slog.Logger, d *listeners) {
	if d.peer != nil && c.peerTLS.cert == "" {
		warnOpen(logger, d.peer, "other nodes", "--peer-tls-cert")
	}
	if c.tls == (keyPair{}) {
		warnOpen(logger, d.grpc, "clients", "--tls-cert")
	}
	if c.token != "" && c.tls.ca == "" {
		logger.Warn("HTTP callers must show a token, and gRPC callers need none",
			"address", d.grpc.Addr(), "secure with", "--policy instead of --http-token")
	}
}

// warnOpen warns about a listener that other machines can reach, and that does not authenticate other nodes.
// (hb-D25)
func warnOpen(logger *slog.Logger, l net.Listener, whom, flag string) {
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		logger.Warn("anyone who reaches this address may do everything", "address", at, "meant for", whom,
			"secure with",
			flag)
	}
}

// say tells that a node runs.
func (a *app) say(r running, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(r)
	}
	a.Note("%s of cluster %s runs: gRPC at %s, HTTP at %s, data in %s; stop with Ctrl-C", r.Name, r.Cluster, r.GRPC,
		r.HTTP, r.Data)
	a.Note("try: hermes pub greetings hello --create --server %s", cli.Reachable(r.GRPC))
	return nil
}

// options are a node's, but for what its listeners say.
func (c *config) options(ctx context.Context, members []broker.Member, logger *slog.Logger) (node.Options, error) {
	secure, err := c.forPeers(ctx, logger)
	if err != nil {
		return node.Options{}, err
	}
	key, err := c.peerKey(ctx)
	if err != nil {
		return node.Options{}, err
	}
	scrub := int64(c.scrub)
	if scrub == 0 {
		scrub = -1 // none
	}
	forLog, limit, err := c.files(logger)
	return node.Options{
		Cluster: c.cluster, Members: members, Join: c.join, Dir: c.dataDir, TLS: secure, PeerKey: key,
		Tick: c.tick, SyncLimit: c.syncLimit, ClockSkew: c.clockSkew, Moved: c.moved,
		Log: wal.Options{SegmentBytes: int64(c.segment), OpenFiles: forLog}, FilesLimit: limit,
		RecentLogBytes: int(c.recentLog), InHandBytes: int(c.inHand), FreeBytes: uint64(c.free), ScrubBytes: scrub,
		Logger: logger,
	}, err
}

// self is this node as others are notified of it.
func (c *config) self(d *listeners) (broker.Member, error) {
	peer, err := advertised(c.peerAddress, d.peer, "peer-address")
	grpcAt, err2 := advertised(c.grpcAddress, d.grpc, "grpc-address")
	httpAt, err3 := advertised(c.httpAddress, d.http, "http-address")
	for _, err := range []error{err, err2, err3} {
		if err != nil {
			return broker.Member{}, err
		}
	}
	return broker.Member{ID: c.id, Name: c.name, Peer: peer, GRPC: grpcAt, HTTP: httpAt}, nil
}

// names are the hosts by which HTTP callers reach this node, besides IP addresses.
func (c *config) names() (names []string) {
	for _, at := range []string{c.httpListen, c.httpAddress} {
		if host, _, err := net.SplitHostPort(at); err == nil && host != "" {
			names = append(names, strings.ToLower(host))
		}
	}
	return names
}

// serving is an API that serves until its context ends.
type serving func(ctx context.Context) error

// apis makes the APIs; nothing is served yet. What callers may is asked here, above the node: what it hands on
// to others was asked where it came in.
func (c *config) apis(n *node.Node, numbers *metrics.Metrics, d *listeners, policy *access.Policy,
	secured [2]*tls.Config, logger *slog.Logger,
) ([]serving, error) {
	if policy != nil {
		// A quarter: what comes through three nodes is all in the hands of the one that leads.
		policy.Share(int64(c.inHand) / 4)
	}
	b := access.Wrap(numbers.Wrap(n), policy)
	open := register.New(0)
	mounts, err := graphql.Handlers(graphql.Config{Broker: b, Origins: c.origins, Register: open, Intake: d.intake})
	if err != nil {
		return nil, err
	}
	page := numbers.Handler(n)
	mounts["/metrics"] = func(context.Context) http.Handler { return page }
	front, err := rest.New(rest.Config{
		Broker: b, Health: n, Traffic: numbers, Token: c.token, Access: policy, TLS: secured[1], Origins: c.origins,
		Names: c.names(),
		Log:   logger, Register: open, Intake: d.intake, Mounts: mounts, Pages: console.Pages(),
	})
	if err != nil {
		return nil, err
	}
	all := []serving{
		func(ctx context.Context) error {
			return grpc.Serve(ctx, endpoint.Endpoint{Listener: d.grpc}, b, grpc.Options{
				Access: policy, TLS: secured[0], NoOrigin: c.noOrigin, Ready: n.Ready, Intake: d.intake,
			})
		},
		func(ctx context.Context) error { return front.Serve(ctx, endpoint.Endpoint{Listener: d.http}, false) },
	}
	if policy != nil {
		all = append(all, following(policy, logger))
	}
	if c.profile {
		show, err := profiling(c.dataDir)
		if err != nil {
			return nil, err
		}
		all = append(all, show)
	}
	return all, nil
}

// hold serves until ctx ends, an API fails or the node does. APIs stop first: their callers' last answers are
// the node's. (hb-D31)
func (a *app) hold(ctx context.Context, n *node.Node, all []serving) error {
	err := serveAll(ctx, n.Failed(), all)
	select {
	case <-n.Failed(): // it has said nothing to the terminal yet, and what it says is the reason of the rest
		err = cli.With(exitFailed, fmt.Errorf("the node ended by itself: %w", n.Err()))
		_ = closeNode(ctx, n)
	default:
		err = errors.Join(err, closeNode(ctx, n))
	}
	return err
}

// serveAll serves until ctx ends, one of them fails or stop is closed, nil for never.
func serveAll(ctx context.Context, stop <-chan struct{}, all []serving) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	failures := make([]error, len(all))
	var serves sync.WaitGroup
	for i, serve := range all {
		serves.Go(func() {
			defer end() // by itself only if it failed
			failures[i] = serve(ctx)
		})
	}
	select {
	case <-ctx.Done():
	case <-stop:
		end()
	}
	serves.Wait()
	return errors.Join(failures...)
}

func closeNode(ctx context.Context, n *node.Node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	return n.Close(ctx)
}
