// Package local runs a Hermes cluster on this machine. Each node is a separate process, which can be killed,
// paused and started again on its data. It knows the program and its flags, and nothing of the data that is
// sent through the cluster.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"wirelab/internal/daemon"
	"wirelab/internal/process"
	"wirelab/wire/status"
)

// NodesLimit is on a cluster of one machine; more would only share its disk.
const NodesLimit = 9

// The longest that a node may take to start, its log's recovery included, and to
// stop by itself; it is killed then.
const (
	startLimit = 180 * time.Second
	stopLimit  = time.Minute
)

// Options say how a cluster is run.
type Options struct {
	Program string // that is Hermes
	Nodes   int    // 1 to NodesLimit
	Dir     string // for the nodes' data, one directory below for each; it is not removed
	Args    []string
	CPUs    []int // that the nodes may run on; nil: any
	// GRPCPorts and HTTPPorts are the nodes' ports, one for each; nil: ones that are free.
	GRPCPorts, HTTPPorts []int
	// Hosts are the nodes' addresses without port; nil: 127.0.0.1 for all.
	Hosts []string
	// Namespaces are the network namespaces that the nodes live in, each with its host's
	// address; nil: ours.
	Namespaces []*os.File
	// Wrap is put before a node's command line, such as "ip netns exec NAME"; nil: nothing.
	Wrap func(id int) []string
	// Stderr gets what a node says, as it comes; nil: a file in addition to its data.
	Stderr func(id int) io.Writer
	// MayBeKilled lets Stop take a node that another process ended with SIGKILL as one that stopped well, as where
	// people try what the others do then.
	MayBeKilled bool
}

// Node is a node. Its addresses stay the same over restarts.
type Node struct {
	ID               int
	Peer, GRPC, HTTP string // host:port
	Dir              string

	args    []string
	options *Options

	now daemon.Run[*child]

	mu    sync.Mutex // one start or end at a time; guards ready
	ready json.RawMessage
}

// child is the process of a node: it says what it is once, and takes no orders.
type child = process.Lines[struct{}, json.RawMessage]

// Cluster is nodes on this machine. Its methods are for any goroutine.
type Cluster struct{ Nodes []*Node }

// Start starts all nodes, and waits until their APIs are open. There may be no leader yet. The nodes die with
// us.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// New plans a cluster and starts nothing. Its ports are free now, but for those that were given; no process
// holds them until the nodes do.
func New(o Options) (*Cluster, error) {
	if o.Nodes < 1 || o.Nodes > NodesLimit {
		return nil, status.Errorf(status.InvalidArgument, "a cluster of %d nodes; 1 to %d are possible", o.Nodes,
			NodesLimit)
	}
	if err := o.checkPorts(); err != nil {
		return nil, err
	}
	c := &Cluster{}
	var members []string
	for range o.Nodes {
		n, err := c.plan(&o)
		if err != nil {
			return nil, err
		}
		members = append(members, fmt.Sprintf("--member=%d@%s,%s,%s", n.ID, n.Peer, n.GRPC, n.HTTP))
	}
	for _, n := range c.Nodes {
		n.args = append(n.args, members...)
		n.args = append(n.args, o.Args...)
	}
	return c, nil
}

// Add plans one more node, under the next id, which joins the cluster when it is started
// first. Not while other methods run.
func (c *Cluster) Add() (*Node, error) {
	o := c.Nodes[0].options
	if len(c.Nodes) >= NodesLimit || o.Hosts != nil && len(o.Hosts) <= len(c.Nodes) {
		return nil, status.Errorf(status.ResourceExhausted, "no place for node %d", len(c.Nodes)+1)
	}
	others := slices.Clone(c.Nodes)
	n, err := c.plan(o)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		n.args = append(n.args, "--join="+other.Peer)
	}
	n.args = append(n.args, "--peer-listen="+n.Peer, "--grpc-listen="+n.GRPC, "--http-listen="+n.HTTP)
	n.args = append(n.args, o.Args...)
	return n, nil
}

// plan adds a node with its own addresses, and the beginning of its command line.
func (c *Cluster) plan(o *Options) (*Node, error) {
	host, id := "127.0.0.1", len(c.Nodes)+1
	if o.Hosts != nil {
		host = o.Hosts[id-1]
	}
	n := &Node{ID: id, Dir: filepath.Join(o.Dir, fmt.Sprintf("node-%d", id)), options: o}
	for _, listener := range []struct {
		at    *string
		ports []int
	}{{&n.Peer, nil}, {&n.GRPC, o.GRPCPorts}, {&n.HTTP, o.HTTPPorts}} {
		port, err := o.port(listener.ports, id)
		if err != nil {
			return nil, err
		}
		*listener.at = fmt.Sprintf("%s:%d", host, port)
	}
	n.args = []string{"server", "--id=" + strconv.Itoa(id), "--data-dir=" + n.Dir}
	c.Nodes = append(c.Nodes, n)
	return n, nil
}

// checkPorts refuses given ports that are not one for each node, none, or one twice.
func (o *Options) checkPorts() error {
	seen := map[int]bool{}
	for _, given := range []struct {
		of    string
		ports []int
	}{{"gRPC", o.GRPCPorts}, {"HTTP", o.HTTPPorts}} {
		if n := len(given.ports); n != 0 && n != o.Nodes {
			return status.Errorf(status.InvalidArgument, "%d %s ports for %d nodes: each node needs one", n, given.of,
				o.Nodes)
		}
		for _, port := range given.ports {
			switch {
			case port < 1 || port > 65535:
				return status.Errorf(status.InvalidArgument, "%s port %d; ports are 1 to 65535", given.of, port)
			case seen[port]:
				return status.Errorf(status.InvalidArgument, "port %d is given twice", port)
			}
			seen[port] = true
		}
	}
	return nil
}

// port is the one that a node was given, or a free one that none was given.
func (o *Options) port(given []int, id int) (int, error) {
	if id <= len(given) {
		return given[id-1], nil
	}
	for {
		port, err := daemon.FreePort()
		if err != nil || !slices.Contains(o.GRPCPorts, port) && !slices.Contains(o.HTTPPorts, port) {
			return port, err
		}
	}
}

// Start starts the nodes that do not run, side by side.
func (c *Cluster) Start(ctx context.Context) error {
	failed := make([]error, len(c.Nodes))
	var starting sync.WaitGroup
	for i, n := range c.Nodes {
		starting.Go(func() { failed[i] = n.Start(ctx) })
	}
	starting.Wait()
	return errors.Join(failed...)
}

// GRPC are the nodes' gRPC APIs.
func (c *Cluster) GRPC() []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.GRPC)
	}
	return all
}

// Stop lets all nodes end, together.
func (c *Cluster) Stop(ctx context.Context) error {
	failed := make([]error, len(c.Nodes))
	var stopping sync.WaitGroup
	for i, n := range c.Nodes {
		stopping.Go(func() { failed[i] = n.Stop(ctx) })
	}
	stopping.Wait()
	return errors.Join(failed...)
}

// Args is the node's command line, without the program: what starts it by hand.
func (n *Node) Args() []string { return n.args }

// Start starts the node on its data, and waits until its APIs are open. One that runs is left alone.
func (n *Node) Start(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now.Now() != nil {
		return nil
	}
	line := append([]string{n.options.Program}, n.args...)
	line = append(line, "--json", "--controlled")
	if n.options.Wrap != nil {
		line = append(n.options.Wrap(n.ID), line...)
	}
	stderr, err := n.stderr()
	if err != nil {
		return err
	}
	if file, ok := stderr.(*os.File); ok {
		defer func() { _ = file.Close() }() // the child has its own by then
	}
	command := process.Command{
		Name: fmt.Sprintf("node %d", n.ID), Path: line[0], Args: line[1:], CPUs: n.options.CPUs, Log: stderr,
	}
	if n.options.Namespaces != nil {
		command.Namespace = n.options.Namespaces[n.ID-1]
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit,
		status.Errorf(status.Unavailable, "it took longer than %v", startLimit))
	defer cancel()
	n.ready = nil
	p, said, err := process.StartLines[struct{}](ctx, command, func(json.RawMessage) bool { return true })
	if err != nil {
		return status.Errorf(status.Unavailable, "node %d did not start: %v%s", n.ID, err, n.lastWords())
	}
	p.Reap()
	n.now.Begin(p)
	n.ready = said
	return nil
}

// stderr is where what the node says goes.
func (n *Node) stderr() (io.Writer, error) {
	if n.options.Stderr != nil {
		return n.options.Stderr(n.ID), nil
	}
	if err := os.MkdirAll(filepath.Dir(n.Dir), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(n.Dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// lastWords are the end of what the node said, to be put at the end of a message.
func (n *Node) lastWords() string {
	if n.options.Stderr != nil {
		return "" // they were told as they came
	}
	text, err := os.ReadFile(n.Dir + ".log")
	if err != nil || len(text) == 0 {
		return ""
	}
	const most = 500
	return "; its last words: " + string(text[max(0, len(text)-most):])
}

// PID is the process id of the node, or of what wraps it; 0 when it does not run.
func (n *Node) PID() int { return n.now.PID() }

// Ready is what the node said of itself, as JSON, when its APIs opened; nil: they never did.
func (n *Node) Ready() json.RawMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ready
}

// Err tells how the node ended, by itself or by another process; nil while it runs, where it ended well, and
// after Kill and Stop.
func (n *Node) Err() error {
	_, how := n.now.Ended()
	return how
}

// Done is closed when the node that runs now has ended; nil: none runs.
func (n *Node) Done() <-chan struct{} { return n.now.Done() }

// Kill ends the node as a crash does, and returns when it is gone.
func (n *Node) Kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.now.Take(); p != nil {
		p.Kill()
		_ = p.Stop() // it ended as it was meant to
	}
}

// Pause stops the node's clock, as a machine that hangs does; Resume lets it run again.
func (n *Node) Pause() { n.signal(syscall.SIGSTOP) }

// Resume is the end of Pause.
func (n *Node) Resume() { n.signal(syscall.SIGCONT) }

func (n *Node) signal(s syscall.Signal) {
	if p := n.now.Now(); p != nil {
		p.Signal(s)
	}
}

// Stop lets the node end by itself, and kills it when it takes too long. The error
// is how it ended, where that was not well.
func (n *Node) Stop(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.now.Take()
	if p == nil {
		return nil
	}
	p.EndInput()
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-p.Done():
	case <-ctx.Done():
	case <-timer.C:
	}
	select {
	case <-p.Done():
	default:
		p.Kill()     // a paused one too
		_ = p.Stop() // it was killed
		return status.Errorf(status.DeadlineExceeded, "node %d did not stop within %v", n.ID, stopLimit)
	}
	err := p.Stop()
	if err == nil || n.options.MayBeKilled && p.Killed() {
		return nil
	}
	return fmt.Errorf("node %d: %w%s", n.ID, err, n.lastWords())
}
