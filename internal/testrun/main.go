// Command testrun runs tests and reports them: what runs while they run, one
// line for each package, the output of what failed, and at the end in one table
// what was not run, and why. It starts the servers that packages share. It knows
// how tests are run, and nothing of what they test.
//
//	go run ./internal/testrun [flags] -- [flags of go test]
//	go run ./internal/testrun -rest
//	go run ./internal/testrun -tools
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"wirelab/internal/prereq"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	packages string
	totals   string
	times    string
	memory   uint64
	shared   bool
	rest     bool
	tools    bool
	without  bool
	test     []string // flags of go test
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("testrun", flag.ContinueOnError)
	flags.StringVar(&o.packages, "packages", "./...", "the packages to test, separated by spaces")
	flags.StringVar(&o.totals, "totals", "", "a file to add the counts to; those in it count at the end")
	flags.StringVar(&o.times, "times", "", "a file to write the seconds of each package to, the slowest first")
	flags.Uint64Var(&o.memory, "memory", 0, "keep temporary files in memory, if it has so many GiB free; 0: never")
	flags.BoolVar(&o.shared, "shared", false, "start one PostgreSQL and one RabbitMQ for all packages, where they are "+
		"installed")
	flags.BoolVar(&o.rest, "rest", false, "run the steps that do not run with the packages: see rest.go")
	flags.BoolVar(&o.without, "without-rest", false, "leave out the tests that -rest runs")
	flags.BoolVar(&o.tools, "tools", false, "say how to install what the tests ask for, and as root on Debian do so")
	err = flags.Parse(args)
	o.test = flags.Args()
	return o, err
}

func run(ctx context.Context, args []string, to io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.tools {
		return tools(ctx, to, find(ctx))
	}
	steps, err := o.steps(ctx)
	if err != nil {
		return err
	}
	lacking := find(ctx)
	if slices.Contains(o.test, "-race") {
		if err := prereq.FindCCompiler(); err != nil {
			return fmt.Errorf("-race needs %s: %w; install it as root, on Debian with:\n  %s",
				prereq.CCompiler.Name, err, install(prereq.CCompiler.Packages))
		}
	}
	if err := announce(to, o.wanted(lacking)); err != nil {
		return err
	}
	place, err := prepare(o.memory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.remove()) }()
	if o.shared {
		s, err := share(ctx, lacking)
		if err != nil {
			return err
		}
		place.env = append(place.env, s.env...)
		defer func() { err = errors.Join(err, s.end()) }()
	}
	t := newTeller(to, steps)
	ran := perform(ctx, steps, place.env, lacking, t)
	endLeft(place.skipped)
	skipped, err := prereq.Noted(place.skipped)
	if err != nil {
		return errors.Join(ran, err)
	}
	t.close()
	counts, err := o.total(t.counts)
	if err != nil {
		return errors.Join(ran, err)
	}
	if o.times != "" {
		if err := os.WriteFile(o.times, t.times(), 0o600); err != nil {
			return errors.Join(ran, err)
		}
	}
	t.summarise(skipped, slices.Contains(o.test, "-short"), lacking)
	_, _ = fmt.Fprintf(to, "%s after %s\n%s\n", ending(ctx, ran), short(time.Since(t.began)), counts)
	return ran
}

func ending(ctx context.Context, ran error) string {
	switch {
	case ctx.Err() != nil:
		return "Interrupted"
	case ran != nil:
		return "Failed"
	}
	return "Passed"
}

// announce tells at once of all that is missing; with CI set that is an error.
func announce(to io.Writer, lacking []lack) error {
	if len(lacking) == 0 {
		return nil
	}
	var names []string
	for _, l := range lacking {
		names = append(names, l.Name)
	}
	said := "Not here: " + strings.Join(names, ", ") + "."
	if prereq.CI() {
		return fmt.Errorf("%s With CI set nothing may be missing. %s", said, remedy(lacking))
	}
	_, err := fmt.Fprintln(to, said+" Tests that need one of these are skipped; the last lines tell which.")
	return err
}

// wanted are the missing things that these tests ask for: some is asked for by the rest alone.
func (o options) wanted(lacking []lack) []lack {
	if o.rest || prereq.CI() {
		return lacking
	}
	return slices.DeleteFunc(slices.Clone(lacking), func(l lack) bool {
		return l.Name == prereq.Python.Name || l.Name == prereq.Strace.Name || l.Name == prereq.Loop.Name
	})
}

// place is where tests keep what they leave behind, for as long as they run.
type place struct {
	dir     string // "" or a folder in memory
	skipped string
	env     []string
}

// memory is a file system in memory on Linux.
const memory = "/dev/shm"

func prepare(room uint64) (p place, err error) {
	if p.skipped, err = os.MkdirTemp("", "wirelab-skipped-"); err != nil {
		return p, err
	}
	// Servers that tests start as root run as someone else, and note nothing; but tests may too.
	if err := os.Chmod(p.skipped, 0o777|os.ModeSticky); err != nil { //nolint:gosec // as /tmp is
		return p, err
	}
	// Without paths of this machine, as programs are built: what make build has compiled
	// need not be compiled again, nor what tests build.
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -trimpath")
	if err := os.Setenv(prereq.FolderVariable, p.skipped); err != nil { // we note some ourselves
		return p, err
	}
	p.env = append(os.Environ(), prereq.FolderVariable+"="+p.skipped, mark+"="+p.skipped, "GOFLAGS="+flags)
	if room == 0 || free(memory)>>30 < room {
		return p, nil
	}
	// A file system that has just lost thousands of files is slow to make new ones, and
	// no test asks what outlives a power cut.
	if p.dir, err = os.MkdirTemp(memory, "wirelab-tests-"); err != nil {
		return p, nil //nolint:nilerr // it is a convenience, and the usual place is as good
	}
	if err := os.Chmod(p.dir, 0o777|os.ModeSticky); err != nil { //nolint:gosec // as /tmp is
		return p, err
	}
	// But compiled programs stay on disk: the programs of tests are gigabytes.
	p.env = append(p.env, "TMPDIR="+p.dir, "GOTMPDIR="+os.TempDir())
	return p, nil
}

// free is how many bytes a file system has room for; 0 if there is none there.
func free(folder string) uint64 {
	var stat syscall.Statfs_t
	if syscall.Statfs(folder, &stat) != nil {
		return 0
	}
	return stat.Bavail * uint64(stat.Bsize) //nolint:gosec // a size is positive
}

func (p place) remove() error {
	err := os.RemoveAll(p.skipped)
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// total adds up the counts of this run and those of earlier ones, if they are asked for.
func (o options) total(c counts) (counts, error) {
	if o.totals == "" {
		return c, nil
	}
	text, err := os.ReadFile(o.totals)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return c, err
	}
	if err == nil {
		var before counts
		if _, err := fmt.Sscanf(string(text), form, &before.passed, &before.failed, &before.skipped); err != nil {
			return c, fmt.Errorf("%s: %w", o.totals, err)
		}
		c = counts{c.passed + before.passed, c.failed + before.failed, c.skipped + before.skipped}
	}
	return c, os.WriteFile(o.totals, []byte(c.String()+"\n"), 0o600)
}

// steps are the steps to run.
func (o options) steps(ctx context.Context) ([]step, error) {
	if o.rest {
		return rest(), nil
	}
	out, err := exec.CommandContext(ctx, "go",
		append([]string{"list"}, strings.Fields(o.packages)...)...).Output() //nolint:gosec // it is what was asked for
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = fmt.Errorf("list the packages: %w\n%s", err, exit.Stderr)
		}
		return nil, err
	}
	packages := strings.Fields(string(out))
	first(packages)
	if o.without {
		o.test = slices.Concat(o.test, withPackages())
	}
	return []step{{args: slices.Concat(o.test, packages), packages: len(packages)}}, nil
}
