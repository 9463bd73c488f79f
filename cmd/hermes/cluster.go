package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/daemon"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// nodesLimit is on a cluster of one machine; more would only share its disk.
const nodesLimit = 9

// clusterFlags are the flags of "cluster".
type clusterFlags struct {
	nodes    int
	dataDir  string
	logLevel string
	asJSON   bool
}

func newClusterCommand(a *app) *cobra.Command {
	var f clusterFlags
	c := &cobra.Command{
		Use:   "cluster --nodes N",
		Short: "Run a cluster on this machine, or change who is in one",
		Long: `Cluster with --nodes runs that many nodes on this machine, each a process of its
own, until Ctrl-C, and prints where they are. A node that dies is told and not
started again, so that what the others do can be watched; the line that starts
it again is printed. Data goes when the cluster ends, unless --data-dir says
where it is to stay.

The commands below change a cluster that runs, wherever it is.`,
		Example: `  hermes cluster --nodes 3
  hermes cluster --nodes 3 --data-dir ./data --json
  hermes cluster transfer 2`,
		Args: cobra.ArbitraryArgs,
	}
	flags := c.Flags()
	flags.IntVar(&f.nodes, "nodes", 0, "`number` of nodes to run, 1 to "+strconv.Itoa(nodesLimit)+"; odd numbers are the better ones")
	flags.StringVar(&f.dataDir, "data-dir", "", "`directory` for the nodes' data, one below for each")
	flags.StringVar(&f.logLevel, "log-level", "warn", "what the nodes log: `level` debug, info, warn or error")
	flags.BoolVar(&f.asJSON, "json", false, "print where each node is as a line of JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return unknown(c, args[0])
		case f.nodes == 0:
			return c.Help()
		case f.nodes < 0 || f.nodes > nodesLimit:
			return usage("--nodes is %d; 1 to %d are allowed", f.nodes, nodesLimit)
		}
		return a.runCluster(c.Context(), f)
	}
	c.AddCommand(
		newMemberCommand(a, "join MEMBER", "Let a node in, given as ID@PEER[,GRPC[,HTTP]]; it learns first, and is promoted once it has caught up", parseMember, (*client.Client).Join),
		newMemberCommand(a, "promote ID", "Make a learner a full member now", parseID, (*client.Client).Promote),
		newMemberCommand(a, "remove ID", "Take a node out for ever", parseID, (*client.Client).Remove),
		newMemberCommand(a, "transfer ID", "Let another node lead", parseID, (*client.Client).TransferLeadership),
	)
	return c
}

func parseID(text string) (uint64, error) {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 {
		return 0, usage("a node's id is a number from 1; %.100q is none", text)
	}
	return id, nil
}

// newMemberCommand makes a command that asks for a change and shows the cluster after it.
func newMemberCommand[T any](a *app, use, short string, parse func(string) (T, error), do func(*client.Client, context.Context, T) (broker.Status, error)) *cobra.Command {
	var f clientFlags
	name, what, _ := strings.Cut(use, " ")
	c := &cobra.Command{Use: use, Short: short, Args: arguments(1, 1, what), Example: "  hermes cluster " + name + " 2"}
	f.register(c)
	asJSON := addJSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		who, err := parse(args[0])
		if err != nil {
			return err
		}
		return a.ask(c.Context(), f, func(ctx context.Context, b *client.Client) error {
			s, err := do(b, ctx, who)
			if err != nil {
				return err
			}
			return a.showStatus(s, *asJSON)
		})
	}
	return c
}

// child is a node that runs as a process.
type child struct {
	id      int
	args    []string
	process *daemon.Process
	stdin   io.Closer // closing it tells the node to stop
	ready   running
}

// runCluster runs nodes until ctx ends.
func (a *app) runCluster(ctx context.Context, f clusterFlags) (err error) {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if f.dataDir == "" {
		if f.dataDir, err = os.MkdirTemp("", "hermes-cluster-"); err != nil {
			return fmt.Errorf("data: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(f.dataDir)) }()
	}
	lines, err := f.commandLines()
	if err != nil {
		return err
	}
	var all []*child
	said := &saying{w: a.stderr}
	defer func() {
		for _, c := range all {
			_ = c.stdin.Close() // it may be dead
		}
		for _, c := range all {
			if err2 := c.process.Err(); err2 != nil && err == nil && !c.process.Killed() {
				err = fmt.Errorf("node %d: %w", c.id, err2)
			}
		}
	}()
	for i, args := range lines {
		c := &child{id: i + 1, args: args}
		output, err := c.start(program, said)
		if err != nil {
			return fmt.Errorf("node %d: %w", c.id, err)
		}
		all = append(all, c)
		if err := json.NewDecoder(output).Decode(&c.ready); err != nil {
			return wirelab.Errorf(wirelab.Unavailable, "node %d did not start; what it said is above", c.id)
		}
	}
	if err := a.sayCluster(all, f.asJSON); err != nil {
		return err
	}
	return a.watch(ctx, program, all)
}

// commandLines are the nodes' arguments. Their ports are free now; nobody holds them until the nodes do.
func (f clusterFlags) commandLines() ([][]string, error) {
	var members []string
	for id := range f.nodes {
		var ports [3]int
		for i := range ports {
			port, err := daemon.FreePort()
			if err != nil {
				return nil, err
			}
			ports[i] = port
		}
		members = append(members, fmt.Sprintf("--member=%d@127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", id+1, ports[0], ports[1], ports[2]))
	}
	lines := make([][]string, f.nodes)
	for id := range lines {
		lines[id] = append([]string{
			"server", "--id=" + strconv.Itoa(id+1), "--log-level=" + f.logLevel,
			"--data-dir=" + filepath.Join(f.dataDir, "node-"+strconv.Itoa(id+1)),
		}, members...)
	}
	return lines, nil
}

// start starts a node and returns its standard output.
func (c *child) start(program string, said *saying) (io.Reader, error) {
	command := exec.Command(program, append(c.args, "--json", "--controlled")...)
	command.Stderr = said.of(fmt.Sprintf("node %d: ", c.id))
	var as *daemon.Identity
	command.SysProcAttr = as.Bound(syscall.SIGTERM) // Ctrl-C is for us, who then stop them in order
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.process, err = daemon.Run(command, nil); err != nil {
		return nil, err
	}
	c.stdin = stdin
	return output, nil
}

func (a *app) sayCluster(all []*child, asJSON bool) error {
	servers := make([]string, len(all))
	for i, c := range all {
		servers[i] = c.ready.GRPC
		if asJSON {
			if err := a.printJSON(c.ready); err != nil {
				return err
			}
			continue
		}
		a.note("node %d runs: gRPC at %s, HTTP at %s, process %d", c.id, c.ready.GRPC, c.ready.HTTP, c.ready.PID)
	}
	a.note("stop with Ctrl-C; try: export %s='%s'; hermes status", serverVariable, strings.Join(servers, " "))
	return nil
}

// watch waits for the end, and tells of nodes that die before.
func (a *app) watch(ctx context.Context, program string, all []*child) error {
	died := make(chan *child)
	left := len(all)
	ended, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	for _, c := range all {
		watchers.Go(func() {
			select {
			case <-c.process.Ended():
			case <-ended.Done():
				return
			}
			select {
			case died <- c:
			case <-ended.Done():
			}
		})
	}
	for left > 0 {
		select {
		case <-ctx.Done():
			a.note("stopping")
			return nil
		case c := <-died:
			left--
			a.note("node %d ended: %v; %d of %d run; start it again with: %s %s", c.id, c.process.Err(), left, len(all), program, strings.Join(c.args, " "))
		}
	}
	return wirelab.Errorf(wirelab.Unavailable, "no node is left")
}

// saying lets several processes write lines to one writer.
type saying struct {
	mu sync.Mutex
	w  io.Writer
}

// of is a writer that puts a prefix before each line.
func (s *saying) of(prefix string) io.Writer { return &speaker{s: s, prefix: prefix} }

type speaker struct {
	s      *saying
	prefix string
	rest   []byte // of a line that is not whole yet; bounded by what one write holds
}

func (p *speaker) Write(data []byte) (int, error) {
	p.rest = append(p.rest, data...)
	for {
		line, rest, whole := strings.Cut(string(p.rest), "\n")
		if !whole && len(line) < 64<<10 {
			return len(data), nil
		}
		p.rest = []byte(rest)
		p.s.mu.Lock()
		_, err := fmt.Fprintf(p.s.w, "%s%s\n", p.prefix, line)
		p.s.mu.Unlock()
		if err != nil {
			return 0, err
		}
	}
}
