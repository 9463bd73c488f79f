// Command rivals measures what a request costs load generators: ours and
// others', against the same servers, in turns. Of each run it takes the CPU
// time of the generator's whole process, its start included, and divides it by
// the requests that were answered rightly. Rivals are found in the folder that
// build/scripts/rivals installs them to, and on the path.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rivals:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	wirelab string
	folder  string // where rivals are
	seconds int
	rounds  int
	seed    uint64
	only    string
	alone   bool
	json    bool
}

func run(ctx context.Context, args []string, stdout, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("rivals", flag.ContinueOnError)
	flags.StringVar(&o.wirelab, "wirelab", "bin/wirelab", "the program to measure")
	flags.StringVar(&o.folder, "rivals", ".cache/rivals/bin", "the folder with the rivals, before the path")
	flags.IntVar(&o.seconds, "seconds", 3, "length of each run")
	flags.IntVar(&o.rounds, "rounds", 5, "how often each generator runs")
	flags.Uint64Var(&o.seed, "seed", 1, "of the order")
	flags.StringVar(&o.only, "only", "", "scenarios whose name has this in it")
	flags.BoolVar(&o.alone, "alone", false, "no rivals: only the raw driver, by its own binding and by a description")
	flags.BoolVar(&o.json, "json", false, "print every run as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.rounds < 2 || o.seconds < 1 {
		return errors.New("want 2 rounds and 1 second at least")
	}
	files, err := os.MkdirTemp("", "rivals")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(files) }() // a few small files in the system's own place for such
	bench := &bench{options: o, files: files, progress: progress}
	if err := bench.prepare(); err != nil {
		return err
	}
	found, err := bench.all(ctx)
	if len(found) > 0 {
		if o.json {
			err = errors.Join(err, json.NewEncoder(stdout).Encode(found))
		} else {
			printTable(stdout, found)
		}
	}
	return err
}

// bench runs generators against servers.
type bench struct {
	options
	files    string
	progress io.Writer
	paths    map[string]string // of the rivals that are there
}

// outcome is one run of one generator.
type outcome struct {
	Scenario string        `json:"scenario"`
	Tool     string        `json:"tool"`
	Round    int           `json:"round"`
	CPU      time.Duration `json:"cpu_ns"`
	Requests uint64        `json:"requests"`
	Seconds  float64       `json:"seconds"`
}

// perRequest is the CPU time of one request, in µs.
func (o outcome) perRequest() float64 {
	return float64(o.CPU.Nanoseconds()) / 1e3 / float64(o.Requests)
}

// all runs every scenario's generators, in random order in each round.
func (b *bench) all(ctx context.Context) ([]outcome, error) {
	var found []outcome
	random := rand.New(rand.NewPCG(b.seed, 0x7269766c))
	for _, s := range scenarios() {
		if !strings.Contains(s.name, b.only) {
			continue
		}
		tools := slices.DeleteFunc(slices.Clone(s.tools), func(t string) bool { return t != ours && t != load && (b.alone || b.paths[t] == "") })
		for round := range b.rounds {
			random.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
			for _, t := range tools {
				fmt.Fprintf(b.progress, "%s: round %d of %d: %s\n", s.name, round+1, b.rounds, t)
				one, err := b.one(ctx, s, t)
				if err != nil {
					return found, fmt.Errorf("%s: %s: %w", s.name, t, err)
				}
				one.Scenario, one.Tool, one.Round = s.name, t, round
				found = append(found, one)
			}
		}
	}
	return found, nil
}

// prepare writes the files that rivals read and looks for the rivals.
func (b *bench) prepare() error {
	for name, text := range requestFiles() {
		if err := os.WriteFile(filepath.Join(b.files, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	b.paths = map[string]string{}
	for _, tool := range []string{"wrk", "h2load", "ghz", "k6"} {
		path, err := b.find(tool)
		if err != nil {
			fmt.Fprintf(b.progress, "MISSING: %s: %v; its rows are left out. build/scripts/rivals installs it.\n", tool, err)
			continue
		}
		b.paths[tool] = path
	}
	return nil
}
