// Package experiment runs a plan: it starts the server and driver of every arm afresh in each round, warms them up,
// runs slices in random order, decides when enough is known, and returns what was measured. It knows nothing of wires,
// and only the names of workloads.
package experiment

import (
	"context"
	"os"
	"slices"
	"strconv"
	"time"

	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/network"
	"wirelab/lab/network/kernel"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/target"
)

// Child is a server or a driver that carries out orders.
type Child interface {
	Ready() control.Ready
	Ask(ctx context.Context, order control.Order) (control.Reply, error)
	// CPU returns the CPU time that it has used so far.
	CPU() (time.Duration, error)
	// Kill ends it at once. Stop ends it in order, waits, and returns how it ended.
	Kill()
	Stop() error
}

// Parted is a child that consists of several processes, such as a pipeline.
type Parted interface {
	Child
	// Parts returns the CPU time that each process has used so far, by name.
	Parts() (map[string]time.Duration, error)
}

// Bench starts children.
type Bench interface {
	// Server starts the server of an arm. It is not called for an arm that has a target.
	Server(ctx context.Context, arm plan.Arm) (Child, error)
	// Null starts a server that does nothing, in place of the arm's server.
	Null(ctx context.Context, arm plan.Arm) (Child, error)
	// Driver starts a driver. A [control.Dial] order then says what to drive.
	Driver(ctx context.Context, arm plan.Arm) (Child, error)
	// Placement returns the CPUs on which children run.
	Placement() result.Placement
}

// Networks is a bench that can make networks. A plan with a network needs one.
type Networks interface {
	Bench
	// Relay starts a relay between a driver and a server.
	Relay(ctx context.Context, order RelayOrder) (Child, error)
	// Shape makes a network path in the kernel to all servers that are started from then on, until undo is called.
	Shape(ctx context.Context, path network.Spec) (undo func(), err error)
}

// Processes is the bench of real experiments. Its children are processes of one program.
type Processes struct {
	program string
	plan    plan.Plan
	sources map[string]string // of databases, by kind: see [Processes.Databases]
	place   result.Placement
	path    *kernel.Path // to the servers; nil: none
}

// NewProcesses returns a bench that runs program (which has the commands serve and drive) for a plan, on the CPUs that
// the plan's Pin allows.
func NewProcesses(program string, p plan.Plan) (*Processes, error) {
	b := &Processes{program: program, plan: p}
	if p.Pin == plan.PinNone {
		return b, nil
	}
	cores, err := probe.Cores(os.DirFS("/"))
	if err != nil {
		return nil, err
	}
	b.place = place(cores, p.DriverCores)
	if path, given, err := p.Path(); err == nil && given && path.Via == network.Relay {
		b.place = placeRelay(b.place, cores)
	}
	return b, nil
}

// Databases sets the addresses of the databases of the plan's arms: a connection string or a file for each kind.
// Servers get them in their environment, since other users can read a command line but not an environment
// (docs/origins.md grb-D14).
func (b *Processes) Databases(sources map[string]string) { b.sources = sources }

// DatabaseVariable is the environment variable that has the address of a server's database.
const DatabaseVariable = "WIRELAB_DB"

// place gives server and driver half of the cores each. If given is above 0, the driver gets that many cores, as far as
// one is left for the server. Cores are not divided, since two threads of a core slow each other down; a single core is
// divided into its threads. The driver gets the first cores: interrupts tend to be served by the first core, and their
// cost should be the driver's rather than the measured server's.
func place(cores [][]int, given int) result.Placement {
	if len(cores) == 1 {
		var threads [][]int
		for _, cpu := range cores[0] {
			threads = append(threads, []int{cpu})
		}
		cores = threads
	}
	drivers := len(cores) / 2
	if drivers == 0 {
		return result.Placement{}
	}
	if given > 0 {
		drivers = min(given, len(cores)-1)
	}
	sorted := func(cores [][]int) []int { return slices.Sorted(slices.Values(slices.Concat(cores...))) }
	return result.Placement{DriverCPUs: sorted(cores[:drivers]), ServerCPUs: sorted(cores[drivers:])}
}

// placeRelay gives relays the driver's last core if the driver has several. Otherwise they share the driver's core. On
// the server's cores they would disturb the measurement without a trace. On the driver's they make it late, which is
// recorded for every call and checked.
func placeRelay(p result.Placement, cores [][]int) result.Placement {
	var whole [][]int // whole cores of the driver
	for _, core := range cores {
		if len(core) > 0 && slices.Contains(p.DriverCPUs, core[0]) {
			whole = append(whole, core)
		}
	}
	p.RelayCPUs = p.DriverCPUs
	if len(whole) > 1 {
		last := whole[len(whole)-1]
		p.RelayCPUs = slices.Sorted(slices.Values(last))
		p.DriverCPUs = slices.DeleteFunc(slices.Clone(p.DriverCPUs),
			func(cpu int) bool { return slices.Contains(last, cpu) })
	}
	return p
}

// Placement implements [Bench].
func (b *Processes) Placement() result.Placement { return b.place }

// serve returns the arguments that every server of an arm has.
func (b *Processes) serve(arm plan.Arm) []string {
	args := []string{"serve", b.plan.Workload, arm.Protocol, "--addr", b.host() + ":0", "--controlled"}
	if data := b.plan.DataOf(arm); data != "" {
		args = append(args, "--data", data)
	}
	return args
}

// Server implements [Bench].
func (b *Processes) Server(ctx context.Context, arm plan.Arm) (Child, error) {
	if arm.Null() {
		return b.Null(ctx, arm)
	}
	args := b.serve(arm)
	if arm.Server != "" {
		args = append(args, "--server", arm.Server)
	}
	hop := slices.Clone(args)
	if arm.Inject != "" {
		args = append(args, "--inject", arm.Inject)
	}
	command := b.serving("server of "+arm.Name, args)
	if kind := b.plan.DatabaseOf(arm); kind != "" {
		command.Args = append(command.Args, "--db", kind, "--pool", strconv.Itoa(b.plan.Pool))
		command.Env = append(command.Env, DatabaseVariable+"="+b.sources[kind])
	}
	server, err := start(ctx, command)
	if err != nil || arm.Hops == 0 {
		return server, err
	}
	return b.hop(ctx, arm, server, hop)
}

// Null implements [Bench].
func (b *Processes) Null(ctx context.Context, arm plan.Arm) (Child, error) {
	args := append(b.serve(arm), "--null")
	return start(ctx, b.serving("null responder of "+arm.Name, args))
}

// Side returns the address on which servers listen, and the network namespace in which they run; nil: this process's.
func (b *Processes) Side() (host string, namespace *os.File) {
	if b.path == nil {
		return b.host(), nil
	}
	return b.host(), b.path.Namespace()
}

// host returns the address on which servers listen.
func (b *Processes) host() string {
	if b.path != nil {
		return b.path.Host
	}
	return "127.0.0.1"
}

// serving returns the command that runs a server as a child process.
func (b *Processes) serving(name string, args []string) process.Command {
	c := process.Command{Name: name, Path: b.program, Args: args, CPUs: b.place.ServerCPUs}
	if b.path != nil {
		c.Namespace = b.path.Namespace()
	}
	return c
}

// Relay implements [Networks].
func (b *Processes) Relay(ctx context.Context, order RelayOrder) (Child, error) {
	return start(ctx, process.Command{
		Name: "relay of " + order.Name, Path: b.program, Args: order.args(), CPUs: b.place.RelayCPUs,
	})
}

// Shape implements [Networks].
func (b *Processes) Shape(ctx context.Context, path network.Spec) (undo func(), err error) {
	if b.path, err = kernel.Make(ctx, path); err != nil {
		return nil, err
	}
	return func() {
		b.path.Remove()
		b.path = nil
	}, nil
}

// Driver implements [Bench].
func (b *Processes) Driver(ctx context.Context, arm plan.Arm) (Child, error) {
	command := process.Command{
		Name: "load generator of " + arm.Name, Path: b.program, Args: []string{"drive"}, CPUs: b.place.DriverCPUs,
	}
	if arm.Direct() {
		command.Env = append(command.Env, DatabaseVariable+"="+b.sources[b.plan.DatabaseOf(arm)])
	}
	driver, err := start(ctx, command)
	if err != nil || arm.Tool() == "" {
		return driver, err
	}
	return tooled{driver.(measured)}, nil
}

// Start starts a child of any kind, for benches that build on this one.
func (b *Processes) Start(ctx context.Context, name string, args []string, cpus []int) (Child, error) {
	return start(ctx, process.Command{Name: name, Path: b.program, Args: args, CPUs: cpus})
}

func start(ctx context.Context, c process.Command) (Child, error) {
	p, err := target.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return measured{p}, nil
}

// measured adds to a child process the CPU time that the kernel knows.
type measured struct{ *target.Process }

func (p measured) CPU() (time.Duration, error) { return process.CPU(p.PID()) }

// tooled is a driver that runs another program to make the calls. Its CPU time includes that of its child processes.
type tooled struct{ measured }

func (t tooled) CPU() (time.Duration, error) {
	tree, err := process.NewTree(t.PID())
	if err != nil {
		return 0, err
	}
	used, err := tree.Read()
	return used.CPU, err
}

// Program returns the path of the running program, for [NewProcesses].
func Program() (string, error) { return os.Executable() }
