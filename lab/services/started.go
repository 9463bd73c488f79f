package services

import (
	"context"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/experiment"
	"wirelab/lab/launch"
	"wirelab/lab/launch/build"
	"wirelab/lab/plan"
	"wirelab/lab/progress"
	"wirelab/workload/external"
)

// started says how the server of a wire is started.
type started struct {
	external.Start
	dir   string         // of its description
	of    plan.External  // the version of the service
	built *build.Version // nil: nothing to build, or not built yet
	wires []string
}

// foreignBench starts servers that are not part of wirelab.
type foreignBench struct {
	*experiment.Processes
	starts map[string]*started // by wire
}

// build builds the version to start, once.
func (s *started) build(ctx context.Context, tell progress.Teller) (err error) {
	if s.of.From == "" || s.built != nil {
		return nil
	}
	ref := s.of.From
	if s.of.Commit != "" && strings.HasPrefix(ref, "git:") {
		ref = "git:" + s.of.Commit // the commit that was measured
	}
	command := s.of.Build
	if command == "" {
		command = s.Build
	}
	tell.Note("building %s", s.of.From)
	s.built, err = build.Build(ctx, build.Spec{Repo: s.dir, Ref: ref, Command: command})
	return err
}

// Build builds the versions that a plan starts, and records their commits in the plan.
func (s *Services) Build(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	if len(p.External) == 0 {
		return p, nil
	}
	p.External = slices.Clone(p.External)
	for _, wire := range slices.Sorted(maps.Keys(s.Made.starts)) {
		start := s.Made.starts[wire]
		if err := start.build(ctx, s.Tell); err != nil {
			return p, err
		}
		for i := range p.External {
			if start.built != nil && p.External[i].As == start.of.As && p.External[i].From == start.of.From {
				p.External[i].Commit = start.built.Commit
			}
		}
	}
	return p, nil
}

// Release removes the builds.
func (f *Made) Release() (err error) {
	if f == nil {
		return nil
	}
	for _, s := range f.starts {
		if s.built != nil {
			err = fault.Both(err, s.built.Close())
			s.built = nil
		}
	}
	return err
}

// Bench returns the launcher of a plan, which starts external services if they are its work.
func (s *Services) Bench(usual *experiment.Processes, over experiment.Bench, p plan.Plan) experiment.Bench {
	if len(p.External) == 0 {
		return over
	}
	return &foreignBench{Processes: usual, starts: s.Made.starts}
}

// Server implements [experiment.Bench].
func (b *foreignBench) Server(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	spec, err := b.starts[arm.Protocol].spec(arm.Name, arm.Protocol)
	if err != nil {
		return nil, err
	}
	spec.Host, spec.Namespace = b.Side()
	spec.CPUs = b.Placement().ServerCPUs
	return launch.Start(ctx, spec)
}

// spec returns how to start the server of a wire. name is for messages.
func (s *started) spec(name, wire string) (launch.Spec, error) {
	spec := launch.Spec{Name: "server of " + name, Dir: s.folder(), Env: s.environ()}
	var err error
	if spec.Run, err = s.Words(wire); err != nil {
		return spec, err
	}
	if s.Ready != "" {
		if spec.Ready, err = launch.ParseReady(s.Ready); err != nil {
			return spec, wirelab.Errorf(wirelab.InvalidArgument, "start.ready: %v", err)
		}
	}
	return spec, nil
}

// folder is the folder in which the server is started.
func (s *started) folder() string {
	base := s.dir
	if s.built != nil {
		base = s.built.Dir
	}
	if filepath.IsAbs(s.Dir) {
		return s.Dir
	}
	return filepath.Join(base, s.Dir)
}

// environ returns its environment variables. Variables for ports stay, because they are filled in later.
func (s *started) environ() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		all = append(all, name+"="+os.Expand(s.Env[name], func(v string) string {
			if v == "PORT" || strings.HasPrefix(v, "PORT_") {
				return "$" + v
			}
			return os.Getenv(v)
		}))
	}
	return all
}

// Words returns its command. For a service with several wires, $PORT_REST is the port of wire rest.
func (s *started) Words(wire string) ([]string, error) {
	ports, err := s.ports(wire)
	if err != nil {
		return nil, err
	}
	run := slices.Clone(s.Run)
	for i := range run {
		run[i] = ports.Replace(run[i])
	}
	if s.Command != "" {
		// Ports are filled in first, because ParseCommand leaves all variables other than $PORT to a shell.
		if run, err = launch.ParseCommand(ports.Replace(s.Command)); err != nil {
			return nil, err
		}
	}
	if s.of.Program != "" {
		program, err := filepath.Abs(s.of.Program)
		if err != nil {
			return nil, err
		}
		run[0] = program
	}
	return run, nil
}

// ports replaces $PORT_REST and the like: by $PORT for the wire that is measured, and by free ports for the others.
func (s *started) ports(wire string) (*strings.Replacer, error) {
	var pairs []string
	for _, other := range slices.Backward(slices.SortedFunc(slices.Values(s.wires), byLength)) {
		name := "PORT_" + strings.ToUpper(strings.ReplaceAll(other, "-", "_"))
		port := "$PORT"
		if other != wire && !strings.HasSuffix(wire, "-"+other) {
			free, err := freePort()
			if err != nil {
				return nil, err
			}
			port = free
		}
		pairs = append(pairs, "${"+name+"}", port, "$"+name, port)
	}
	return strings.NewReplacer(pairs...), nil
}

// byLength sorts short texts first. The caller goes backwards, so that $PORT_A is not replaced inside $PORT_AB.
func byLength(a, b string) int { return len(a) - len(b) }

// freePort returns a port that was free a moment ago.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return strconv.Itoa(port), l.Close()
}
