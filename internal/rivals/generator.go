package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"wirelab/lab/audit"
	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/target"
)

// The cores: the generator has the first, the server the second.
const generatorCPU, serverCPU = 0, 1

// find returns where a rival is.
func (b *bench) find(tool string) (string, error) {
	if path, err := exec.LookPath(filepath.Join(b.folder, tool)); err == nil {
		return filepath.Abs(path)
	}
	return exec.LookPath(tool)
}

// one runs a generator once against a fresh server.
func (b *bench) one(ctx context.Context, s scenario, tool string) (done outcome, err error) {
	if runtime.NumCPU() <= serverCPU {
		return done, errors.New("want two cores, so that generator and server do not share one")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.seconds)*time.Second+30*time.Second)
	defer cancel()
	args := []string{"serve", "routeguide", s.protocol, "--addr", "127.0.0.1:0", "--controlled"}
	if s.null {
		args = append(args, "--null")
	}
	server, err := target.Start(ctx, target.Command{Name: "server", Path: b.wirelab, Args: args, CPUs: []int{serverCPU}})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if tool == ours || tool == load {
		return b.drive(ctx, s, tool, server.Ready().Address)
	}
	return b.rival(ctx, s, tool, server.Ready().Address)
}

// drive runs our raw driver as a process of its own.
func (b *bench) drive(ctx context.Context, s scenario, tool, address string) (done outcome, err error) {
	driver, err := target.Start(ctx, target.Command{Name: "driver", Path: b.wirelab, Args: []string{"drive"}, CPUs: []int{generatorCPU}})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, driver.Stop()) }()
	dial := &control.Dial{
		Workload: "routeguide", Protocol: s.protocol, Raw: true, Address: address,
		Seed: b.seed, Deadline: plan.Duration(10 * time.Second),
		Loads: []control.Load{{Operation: "GetFeature", InFlight: s.connections * s.streams, Connections: s.connections}},
	}
	if tool == load {
		if dial.External, err = described(ctx, s, address, filepath.Join(b.files, "guide.proto")); err != nil {
			return done, err
		}
		dial.Target = true
	}
	if _, err = driver.Ask(ctx, control.Order{Dial: dial}); err != nil {
		return done, err
	}
	reply, err := driver.Ask(ctx, control.Order{Slice: &control.Slice{For: plan.Duration(time.Duration(b.seconds) * time.Second)}})
	if err != nil {
		return done, err
	}
	done.CPU, err = probe.CPU(driver.PID())
	if err != nil {
		return done, err
	}
	recorded := reply.Slice.Recording
	if recorded.OK != recorded.Sent {
		return done, fmt.Errorf("%d of %d calls failed: %v", recorded.Sent-recorded.OK, recorded.Sent, recorded.Errors)
	}
	done.Requests, done.Seconds = recorded.OK, recorded.Window.Seconds()
	return done, nil
}

// rival runs another's generator.
func (b *bench) rival(ctx context.Context, s scenario, tool, address string) (outcome, error) {
	parser, err := audit.ParserNamed(tool)
	if err != nil {
		return outcome{}, err
	}
	command := exec.CommandContext(ctx, "taskset", append([]string{"-c", strconv.Itoa(generatorCPU), b.paths[tool]}, b.arguments(s, tool, address)...)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	began := time.Now()
	if err := command.Run(); err != nil {
		return outcome{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	took := time.Since(began).Seconds()
	said, err := parser.Parse(audit.Output{Stdout: stdout.String(), Stderr: stderr.String()})
	if err != nil {
		return outcome{}, err
	}
	if said.Count == nil || *said.Count == 0 || said.Errors != nil && *said.Errors > *said.Count/1000 {
		return outcome{}, fmt.Errorf("no count of right answers in what it printed:\n%s", stdout.String())
	}
	state := command.ProcessState
	return outcome{CPU: state.UserTime() + state.SystemTime(), Requests: *said.Count, Seconds: took}, nil
}
