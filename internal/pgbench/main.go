// Command pgbench sets what callers get from the ledger over a wire beside what
// PostgreSQL's own benchmark gets from the same server without one: balances
// per second, in turns, and the CPU time that each part of the way takes.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"wirelab/lab/result"
	"wirelab/system/postgres"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgbench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	wirelab string
	arms    []string
	callers int
	pool    int
	seconds int
	rounds  int
	seed    uint64
}

func run(ctx context.Context, args []string, stdout, progress io.Writer) (err error) {
	var o options
	flags := flag.NewFlagSet("pgbench", flag.ContinueOnError)
	flags.StringVar(&o.wirelab, "wirelab", "bin/wirelab", "the program to measure")
	arms := flags.String("arms", "raw-tcp,driver=raw grpc,driver=raw raw-tcp", "arms of wirelab compare, with spaces between them")
	flags.IntVar(&o.callers, "callers", 50, "calls in flight, and clients of pgbench")
	flags.IntVar(&o.pool, "pool", 16, "connections to the database that our server holds; pgbench has one for each client")
	flags.IntVar(&o.seconds, "seconds", 5, "length of each run")
	flags.IntVar(&o.rounds, "rounds", 10, "how often each runs")
	flags.Uint64Var(&o.seed, "seed", 1, "of the order")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.arms = strings.Fields(*arms)
	if o.rounds < 2 || o.seconds < 1 || len(o.arms) == 0 {
		return errors.New("want an arm, 2 rounds and 1 second at least")
	}
	if o.wirelab, err = filepath.Abs(o.wirelab); err != nil {
		return err
	}
	files, err := os.MkdirTemp("", "pgbench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(files)) }()
	server, err := postgres.Start(ctx, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	b := &bench{options: o, server: server, files: files, progress: progress}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	if err := b.all(ctx); err != nil {
		return err
	}
	return b.print(stdout)
}

// theirs names pgbench among what is run.
const theirs = "pgbench -S -M prepared"

// bench runs all in turns against one server.
type bench struct {
	options
	server   *postgres.Server
	files    string
	progress io.Writer
	pgbench  string
	// environment says where the server is, as its own programs read it.
	environment []string
	found       map[string][]outcome // by what was run, a value for each round
}

// outcome is one run. CPU times are per balance, in µs; NaN-free: 0 is unknown.
type outcome struct {
	rate                     float64 // balances per second
	client, server, database float64
	wait                     float64 // for a connection of the pool
}

// prepare makes pgbench's tables, and has our server make its own.
func (b *bench) prepare(ctx context.Context) error {
	installed, err := postgres.Find(ctx, os.Getenv)
	if err != nil {
		return err
	}
	b.found = map[string][]outcome{}
	at, err := url.Parse(b.server.DSN())
	if err != nil {
		return err
	}
	password, _ := at.User.Password()
	b.environment = []string{
		"PGHOST=" + at.Hostname(), "PGPORT=" + at.Port(), "PGUSER=" + at.User.Username(), "PGPASSWORD=" + password,
		"PGDATABASE=" + strings.TrimPrefix(at.Path, "/"),
	}
	b.pgbench = filepath.Join(installed.Bin, "pgbench")
	if _, err := os.Stat(b.pgbench); err != nil {
		if b.pgbench, err = exec.LookPath("pgbench"); err != nil {
			return fmt.Errorf("%w: it is in PostgreSQL's package of clients", err)
		}
	}
	fmt.Fprintln(b.progress, "making tables")
	if _, err := b.output(ctx, b.pgbench, "--initialize", "--quiet", "--scale", "1"); err != nil {
		return err
	}
	_, err = b.ours(ctx, b.arms[0], 1)
	return err
}

// output runs a program to its end.
func (b *bench) output(ctx context.Context, program string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = slices.Concat(os.Environ(), b.server.Env(), b.environment, []string{"WIRELAB_STORE=" + filepath.Join(b.files, "results.db")})
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil && len(out) == 0 {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(program), err, lastLine(said.String()))
	}
	return out, nil // wirelab's exit code may say that a single round proves nothing, which is so
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// all runs everything in every round, in random order.
func (b *bench) all(ctx context.Context) error {
	random := rand.New(rand.NewPCG(b.seed, 0x7067))
	order := append([]string{theirs}, b.arms...)
	for round := range b.rounds {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, what := range order {
			fmt.Fprintf(b.progress, "round %d of %d: %s\n", round+1, b.rounds, what)
			measure := func(ctx context.Context) (outcome, error) { return b.ours(ctx, what, b.seconds) }
			if what == theirs {
				measure = b.theirs
			}
			one, err := measure(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			b.found[what] = append(b.found[what], one)
		}
	}
	return nil
}

var (
	tps   = regexp.MustCompile(`tps = ([0-9.]+) \(without initial`)
	calls = regexp.MustCompile(`number of transactions actually processed: ([0-9]+)`)
)

// theirs runs pgbench.
func (b *bench) theirs(ctx context.Context) (outcome, error) {
	used, err := databaseCPU(b.server.PID())
	if err != nil {
		return outcome{}, err
	}
	command := exec.CommandContext(ctx, b.pgbench, "--select-only", "--protocol", "prepared", "--no-vacuum",
		"--client", strconv.Itoa(b.callers), "--jobs", "2", "--time", strconv.Itoa(b.seconds))
	command.Env = append(os.Environ(), b.environment...)
	out, err := command.CombinedOutput()
	if err != nil {
		return outcome{}, fmt.Errorf("%w: %s", err, lastLine(string(out)))
	}
	ended, err := databaseCPU(b.server.PID())
	if err != nil {
		return outcome{}, err
	}
	rate, n := number(tps, out), number(calls, out)
	if rate == 0 || n == 0 {
		return outcome{}, fmt.Errorf("its output is not understood: %s", lastLine(string(out)))
	}
	own := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return outcome{rate: rate, client: micros(own) / n, database: micros(ended-used) / n}, nil
}

func number(form *regexp.Regexp, text []byte) float64 {
	m := form.FindSubmatch(text)
	if m == nil {
		return 0
	}
	v, _ := strconv.ParseFloat(string(m[1]), 64) // 0 is told of
	return v
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

// ours runs an arm.
func (b *bench) ours(ctx context.Context, arm string, seconds int) (outcome, error) {
	out, err := b.output(ctx, b.wirelab, "compare", arm, "--workload", "ledger.GetBalance", "--requests", "known",
		"--in-flight", strconv.Itoa(b.callers), "--pool", strconv.Itoa(b.pool), "--pin", "none", "--certificate", "none",
		"--rounds", "1", "--slices", "1", "--slice", strconv.Itoa(seconds)+"s", "--json", "--quiet")
	if err != nil {
		return outcome{}, err
	}
	var printed struct{ Result result.Result }
	if err := json.Unmarshal(out, &printed); err != nil {
		return outcome{}, err
	}
	if len(printed.Result.Rounds) != 1 || len(printed.Result.Rounds[0].Trials) != 1 {
		return outcome{}, errors.New("the round failed")
	}
	t := printed.Result.Rounds[0].Trials[0]
	if len(t.Errors) > 0 || t.Completed == 0 || t.Window <= 0 {
		return outcome{}, fmt.Errorf("%d calls, failures %v", t.Completed, t.Errors)
	}
	n := float64(t.Calls())
	one := outcome{rate: float64(t.Completed) / t.Window.Seconds(), client: micros(time.Duration(t.Driver.CPU)) / n}
	if t.Server != nil {
		one.server = micros(time.Duration(t.Server.CPU)) / n
	}
	return withDatabase(one, &t, n), nil
}

// print writes medians over rounds, and of ratios within them.
func (b *bench) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tbalances/s\t/ pgbench\tlowest\thighest\tclient µs\tserver µs\tdatabase µs\tpool wait µs\t\n", "")
	for _, what := range append([]string{theirs}, b.arms...) {
		runs := b.found[what]
		var ratios []float64
		for i, one := range runs {
			ratios = append(ratios, one.rate/b.found[theirs][i].rate)
		}
		slices.Sort(ratios)
		fmt.Fprintf(w, "%s\t%.0f\t%.3f\t%.3f\t%.3f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", what,
			median(runs, func(o outcome) float64 { return o.rate }), middle(ratios), ratios[0], ratios[len(ratios)-1],
			median(runs, func(o outcome) float64 { return o.client }), median(runs, func(o outcome) float64 { return o.server }),
			median(runs, func(o outcome) float64 { return o.database }), median(runs, func(o outcome) float64 { return o.wait }))
	}
	fmt.Fprintf(w, "medians of %d rounds of %d s in random order, %d callers, a pool of %d; CPU times are per balance\t\n", b.rounds, b.seconds, b.callers, b.pool)
	return w.Flush()
}

func median(runs []outcome, of func(outcome) float64) float64 {
	var all []float64
	for _, o := range runs {
		all = append(all, of(o))
	}
	slices.SortFunc(all, cmp.Compare[float64])
	return middle(all)
}

// middle is the median of sorted numbers.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
