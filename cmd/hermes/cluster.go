package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
	"wirelab/internal/fault"
	"wirelab/wire/status"
)

// clusterFlags are the flags of "cluster".
type clusterFlags struct {
	nodes     int
	grpcPorts string
	httpPorts string
	dataDir   string
	logLevel  string
	asJSON    bool
}

func newClusterCommand(a *app) *cobra.Command {
	var f clusterFlags
	c := &cobra.Command{
		Use:   "cluster --nodes N",
		Short: "Run a cluster on this machine, or change the nodes of a cluster",
		Long: `Cluster with --nodes runs a cluster on this machine until Ctrl-C, each node in its
own process, and prints the addresses. A node that dies is reported but not
restarted, so that you can watch the others; the command that starts it again is
printed. The data is deleted when the cluster ends, unless you give --data-dir.
The nodes listen on free ports of 127.0.0.1, unless you give --grpc-ports and
--http-ports.

The commands below change a running cluster, here or elsewhere.`,
		Example: `  hermes cluster --nodes 3
  hermes cluster --nodes 3 --data-dir ./data --json
  hermes cluster --nodes 3 --grpc-ports 50051,50052,50053 --http-ports 8080,8081,8082
  hermes cluster transfer 2`,
		Args: cobra.ArbitraryArgs,
	}
	flags := c.Flags()
	flags.IntVar(&f.nodes, "nodes", 0,
		"`number` of nodes to run, 1 to "+strconv.Itoa(local.NodesLimit)+"; odd numbers "+
			"are better")
	flags.StringVar(&f.grpcPorts, "grpc-ports", "", "gRPC `ports` of the nodes, separated by commas")
	flags.StringVar(&f.httpPorts, "http-ports", "", "HTTP `ports` of the nodes, separated by commas")
	flags.StringVar(&f.dataDir, "data-dir", "", "`directory` for the data; each node has its own folder in it")
	flags.StringVar(&f.logLevel, "log-level", "warn", "what the nodes log: `level` debug, info, warn or error")
	flags.BoolVar(&f.asJSON, "json", false, "print the addresses of each node as a line of JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return cli.Unknown(c, args[0])
		case !c.Flags().Changed("nodes") && f.grpcPorts+f.httpPorts != "":
			return cli.Usage("give --nodes too: how many nodes are to run on these ports")
		case !c.Flags().Changed("nodes"):
			return c.Help()
		case f.nodes < 1 || f.nodes > local.NodesLimit:
			return cli.Usage("--nodes is %d; 1 to %d are allowed", f.nodes, local.NodesLimit)
		}
		return a.runCluster(c.Context(), f)
	}
	c.AddCommand(
		newMemberCommand(a, "join MEMBER", "4@10.0.0.4:6000",
			"Add a node, given as ID@PEER[,GRPC[,HTTP]]; it becomes a "+
				"full member when it has caught up", parseMember, (*client.Client).Join),
		newMemberCommand(a, "promote NODE", "2", "Make a learner, by id or name, a full member now", parseNode,
			byName((*client.Client).Promote)),
		newMemberCommand(a, "remove NODE", "2", "Remove a node, by id or name, permanently", parseNode,
			byName((*client.Client).Remove)),
		newMemberCommand(a, "transfer NODE", "2", "Make another node, by id or name, the leader", parseNode,
			byName((*client.Client).TransferLeadership)),
	)
	return c
}

func parseID(text string) (uint64, error) {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 {
		return 0, cli.Usage("a node's id is a number from 1; %.100q is none", text)
	}
	return id, nil
}

// parseNode refuses a text that is neither an id nor a name.
func parseNode(text string) (string, error) {
	if _, err := strconv.ParseUint(text, 10, 64); err == nil || text == "" {
		_, err := parseID(text)
		return text, err
	}
	return text, nil
}

// byName lets a node be given by its id, or by its name as "hermes status" prints it.
func byName(do func(*client.Client, context.Context, uint64) (broker.Status, error)) func(*client.Client,
	context.Context, string) (broker.Status, error) {
	return func(c *client.Client, ctx context.Context, node string) (broker.Status, error) {
		if id, err := strconv.ParseUint(node, 10, 64); err == nil {
			return do(c, ctx, id)
		}
		s, err := c.Status(ctx)
		if err != nil {
			return s, err
		}
		id, err := nodeNamed(s.Members, node)
		if err != nil {
			return s, err
		}
		return do(c, ctx, id)
	}
}

// nodeNamed is the id of the one member that has a name.
func nodeNamed(members []broker.Member, name string) (id uint64, err error) {
	var all []string
	for _, m := range members {
		all = append(all, fmt.Sprintf("%d (%s)", m.ID, m.Name))
		switch {
		case m.Name != name:
		case id != 0:
			return 0, cli.Usage("nodes %d and %d are both named %.100q: give the id", id, m.ID, name)
		default:
			id = m.ID
		}
	}
	if id == 0 {
		return 0, cli.Usage("no node is named %.100q; the cluster's nodes are %s", name, strings.Join(all, ", "))
	}
	return id, nil
}

// newMemberCommand makes a command that asks for a change and shows the cluster after it.
func newMemberCommand[T any](a *app, use, example, short string, parse func(string) (T, error),
	do func(*client.Client, context.Context, T) (broker.Status, error),
) *cobra.Command {
	var f clientFlags
	name, what, _ := strings.Cut(use, " ")
	c := &cobra.Command{Use: use, Short: short, Args: cli.Arguments(1, 1, what), Example: "  hermes cluster " + name +
		" " + example}
	f.register(c)
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		who, err := parse(args[0])
		if err != nil {
			return err
		}
		return a.ask(c.Context(), f, func(ctx context.Context, b *client.Client) error {
			s, err := do(b, ctx, who)
			if err != nil {
				return unanswered(c.CommandPath(), args[0], err)
			}
			return a.showStatus(s, a.hear(ctx, f, s), *asJSON)
		})
	}
	return c
}

// unanswered says, of a change that no leader confirmed, whatever is not known and what to do; other errors
// stay.
func unanswered(command, who string, err error) error {
	public := status.Public(err)
	if public.Code != status.DeadlineExceeded && public.Code != status.Unavailable {
		return err
	}
	return status.Errorf(public.Code, "%s %s: no leader confirmed it, so it is not known whether it was done (%s); "+
		"see hermes status, and run the command again: it changes nothing that was done before. %s", command, who,
		fault.Plain(public.Message), needsMost)
}

// needsMost is what to do where there will be no leader any more.
const needsMost = "A leader needs most of the nodes: if they are lost for ever, see hermes recover and hermes export"

// ports are those of a flag, one for each node, that are free now; nil where the flag was not given. Seen are those
// that were given before.
func (f *clusterFlags) ports(flag, text string, seen map[int]bool) (all []int, err error) {
	if text == "" {
		return nil, nil
	}
	words := strings.Split(text, ",")
	if len(words) != f.nodes {
		return nil, cli.Usage("%s has %d ports, and --nodes is %d: give one port for each node, separated by commas",
			flag, len(words), f.nodes)
	}
	for _, word := range words {
		port, err := strconv.Atoi(strings.TrimSpace(word))
		switch {
		case err != nil || port < 1 || port > 65535:
			return nil, cli.Usage("%s has %.40q; a port is a number from 1 to 65535", flag, word)
		case seen[port]:
			return nil, cli.Usage("port %d is given twice: each node needs its own gRPC port and HTTP port", port)
		}
		seen[port] = true
		all = append(all, port)
	}
	for _, port := range all {
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return nil, status.Errorf(status.Unavailable, "%s: %s", flag, fault.Text(err))
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// runCluster runs nodes until ctx ends.
func (a *app) runCluster(ctx context.Context, f clusterFlags) (err error) {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	seen := map[int]bool{}
	grpcPorts, err := f.ports("--grpc-ports", f.grpcPorts, seen)
	if err != nil {
		return err
	}
	httpPorts, err := f.ports("--http-ports", f.httpPorts, seen)
	if err != nil {
		return err
	}
	if f.dataDir == "" {
		if f.dataDir, err = os.MkdirTemp("", "hermes-cluster-"); err != nil {
			return fmt.Errorf("data: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(f.dataDir)) }()
	}
	args := []string{"--log-level=" + f.logLevel}
	if a.getenv(variable("policy")) != "" || a.getenv(variable(configFlag)) != "" {
		// The nodes may have a policy from there, with which they ask each other for a key.
		key, err := clusterKey(f.dataDir)
		if err != nil {
			return err
		}
		args = append(args, "--peer-key-file="+key)
	}
	said := &saying{w: a.Stderr}
	cluster, err := local.Start(ctx, local.Options{
		Program: program, Nodes: f.nodes, Dir: f.dataDir, Args: args, GRPCPorts: grpcPorts, HTTPPorts: httpPorts,
		Stderr:      func(id int) io.Writer { return said.of(fmt.Sprintf("node %d: ", id)) },
		MayBeKilled: true, // trying that is what the cluster is for, and no failure of it
	})
	switch {
	case err != nil && ctx.Err() != nil: // Ctrl-C while they started
		a.Note("stopping")
		return nil
	case err != nil:
		return err
	}
	defer func() {
		// ctx has ended by now; the nodes get their time all the same.
		if stopped := cluster.Stop(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()
	if err := a.sayCluster(cluster, f.asJSON); err != nil {
		return err
	}
	a.Idle(ctx, "stopping the nodes")
	return a.watch(ctx, program, cluster.Nodes)
}

// clusterKey is the file with the key of a cluster on this machine, which is made where it is not there.
func clusterKey(dir string) (file string, err error) {
	file = filepath.Join(dir, "peer.key")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("data: %w", err)
	}
	return file, os.WriteFile(file, []byte(rand.Text()+rand.Text()+"\n"), 0o600)
}

func (a *app) sayCluster(cluster *local.Cluster, asJSON bool) error {
	for _, n := range cluster.Nodes {
		if asJSON {
			if err := a.PrintJSON(n.Ready()); err != nil {
				return err
			}
			continue
		}
		a.Note("node %d runs: gRPC at %s, HTTP at %s, process %d", n.ID, n.GRPC, n.HTTP, n.PID())
	}
	a.Note("stop with Ctrl-C; try: export %s='%s'; hermes status", serverVariable, strings.Join(cluster.GRPC(), " "))
	return nil
}

// watch waits for the end, and reports nodes that die before.
func (a *app) watch(ctx context.Context, program string, nodes []*local.Node) error {
	died := make(chan *local.Node)
	left := len(nodes)
	until, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	for _, n := range nodes {
		ended := n.Done()
		watchers.Go(func() {
			select {
			case <-ended:
			case <-until.Done():
				return
			}
			select {
			case died <- n:
			case <-until.Done():
			}
		})
	}
	for left > 0 {
		select {
		case <-ctx.Done():
			a.Note("stopping")
			return nil
		case n := <-died:
			left--
			a.Note("node %d ended%s; %d of %d run; start it again with: %s %s", n.ID, how(n.Err()), left, len(nodes),
				program,
				strings.Join(n.Args(), " "))
		}
	}
	return status.Errorf(status.Unavailable, "no node is left")
}

// how says how a node ended, behind "ended"; nothing of one that ended well.
func how(err error) string {
	if err == nil {
		return ""
	}
	return ": " + fault.Text(err)
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
