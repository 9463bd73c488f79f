package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"wirelab"
	"wirelab/lab/audit"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

const (
	// outputLimit bounds each output of a tool that is kept, in bytes: many times the size of a summary.
	outputLimit = 1 << 20
	// patience is how much longer than planned a run may take.
	patience = 30 * time.Second
	// longest bounds the runs that are made longer because no call ended.
	longest = 10 * time.Second
	// grace is how long calls through a [Watcher] may take to end.
	grace = 2 * time.Second
)

// Run is a tool with the request that it repeats.
type Run struct {
	tool    Tool
	program string
	request Request
	folder  string // of its files
	// environment is added to the environment of this program.
	environment []string
	// least is the shortest run in which a call ended; 0: unknown.
	least time.Duration
}

// Told is the report of a run.
type Told struct {
	Right, Wrong uint64        // calls with a right and a wrong reply, as far as the tool checks them
	Elapsed      time.Duration // as measured by the tool
	// Usage is the resource use of its processes, from start to end: CPU time, context switches and memory.
	Usage result.Usage
}

// Prepare writes the tool's files into a new folder. [Run.Close] removes it.
func (t Tool) Prepare(program string, r Request) (*Run, error) {
	folder, err := os.MkdirTemp("", "wirelab-"+t.Name+"-")
	if err != nil {
		return nil, err
	}
	run := &Run{tool: t, program: program, request: r, folder: folder}
	files, err := t.files(r)
	if err == nil && t.environment != nil {
		run.environment, err = t.environment(r)
	}
	if err != nil {
		return nil, errors.Join(err, run.Close())
	}
	for name, data := range files {
		if err := os.WriteFile(run.at(name), data, 0o600); err != nil {
			return nil, errors.Join(err, run.Close())
		}
	}
	return run, nil
}

// Close removes the files.
func (r *Run) Close() error { return os.RemoveAll(r.folder) }

func (r *Run) at(name string) string { return filepath.Join(r.folder, name) }

// errNoneEnded is the error of a run in which no call ended, because it was over before all connections were open.
var errNoneEnded = errors.New("no call ended in the run")

// Do runs the tool. When ctx ends, all processes of the tool are ended. If no call ends in a run, the run is repeated
// with twice the length, and later runs are longer too.
func (r *Run) Do(ctx context.Context, l Load) (Told, error) {
	for {
		l.For = max(l.For, r.least)
		told, err := r.once(ctx, l)
		if !errors.Is(err, errNoneEnded) || l.For >= longest {
			return told, err
		}
		r.least = r.tool.Rounded(2 * l.For)
	}
}

func (r *Run) once(ctx context.Context, l Load) (Told, error) {
	limit := l.For + patience
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s did not end within %v", r.tool.Name, limit))
	defer cancel()
	command := exec.Command(r.program, r.tool.args(r.request, l, r.at)...) //nolint:gosec // the user chose the program
	command.Dir = r.folder
	command.Env = append(os.Environ(), r.environment...)
	output, err := audit.RunProgram(ctx, r.tool.Name, command, outputLimit)
	if err != nil {
		return Told{}, err
	}
	told, err := r.tool.read(output)
	told.Usage = usage(command.ProcessState)
	return told, err
}

// read reads a report. A report without right replies is an error.
func (t Tool) read(o audit.Output) (Told, error) {
	if t.report != nil {
		return t.report(o)
	}
	parser, err := t.parser()
	if err != nil {
		return Told{}, err
	}
	said, err := parser.Parse(o)
	switch {
	case err != nil:
		return Told{}, err
	case said.Count == nil || said.Errors == nil || said.Elapsed == nil || *said.Elapsed <= 0:
		return Told{}, wirelab.Errorf(wirelab.Unavailable,
			"%s did not say how many calls it made, how many failed, and how long it took", t.Name)
	}
	return Told{Right: *said.Count - *said.Errors, Wrong: *said.Errors, Elapsed: *said.Elapsed}, nil
}

// usage is the resource use of a process that has ended, including the children that it waited for.
func usage(state *os.ProcessState) result.Usage {
	used := result.Usage{CPU: plan.Duration(state.UserTime() + state.SystemTime())}
	if kernel, ok := state.SysUsage().(*syscall.Rusage); ok {
		const kilobyte = 1024
		used.ResidentBytes = uint64(max(0, kernel.Maxrss)) * kilobyte
		used.VoluntaryWaits, used.Preemptions = uint64(max(0, kernel.Nvcsw)), uint64(max(0, kernel.Nivcsw))
	}
	return used
}
