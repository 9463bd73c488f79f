// Package desk has what the commands of wirelab share: where they read and write, what can run, how a result is
// printed and how an error ends the program. It knows flags that several commands have. It must not know a command.
package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/internal/input"
	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/lab/prepare"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/services"
	"wirelab/results/measure"
	"wirelab/results/report"
	"wirelab/results/report/progress"
	"wirelab/results/report/terminal"
	"wirelab/results/store"
	"wirelab/workload/all"
)

// Incomplete returns the error of an experiment in which an arm was absent: the result does not have everything that
// was asked for. A worse error err comes first.
func (d *Desk) Incomplete(r *result.Result, err error) error {
	if len(r.Absent) == 0 || err != nil && ExitCodeOf(err) != ExitUndecided {
		return err
	}
	return cli.With(ExitNoWord,
		fmt.Errorf("%s%s", strings.Join(report.Absences(r.Absent), "; "),
			d.Stored("of the others the result is ", r.ID)))
}

// Desk has what commands share: input and output, and what can run.
type Desk struct {
	cli.Terminal
	measure.Measurer
	args []string // as typed, without the program's name
	// Full is the value of --full: print everything that was measured.
	Full bool
	// Refused is the value of --show-refused: print the values that checks refused, marked.
	Refused bool
}

// IsTerminal reports whether standard output is a terminal.
func (d *Desk) IsTerminal() bool {
	f, ok := cli.FileOf(d.Stdout)
	return ok && isatty.IsTerminal(f.Fd())
}

// Colour reports whether to print in colour: on a terminal that supports it, unless NO_COLOR is set (no-color.org).
func (d *Desk) Colour() bool {
	return d.IsTerminal() && d.Getenv("NO_COLOR") == "" && d.Getenv("TERM") != "dumb"
}

// Style returns how to write at the present terminal.
func (d *Desk) Style() terminal.Style {
	return terminal.Style{Color: d.Colour(), Width: d.width(), Refused: d.Refused}
}

// AddFullFlag adds the flag to a command that prints a result.
func (d *Desk) AddFullFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&d.Full, "full", false, "print every table and note instead of the short answer")
}

// AddRefusedFlag adds the flag to a command that prints a result.
func (d *Desk) AddRefusedFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&d.Refused, "show-refused", false,
		"also print values that a check refused, in parentheses, with the reasons")
}

// CannotMark refuses --show-refused for a format that cannot mark refused values. instead names one that can.
func (d *Desk) CannotMark(form, instead string) error {
	if !d.Refused {
		return nil
	}
	return cli.Usage("--show-refused: %s has no way to mark a refused value, and leaves it out; %s", form, instead)
}

// commandLine returns what the user typed, quoted for a shell and without secrets. It is stored with results.
func (d *Desk) commandLine() string { return services.TypedLine(d.args, d.Services.Hidden) }

// Columns returns the width to print in: that of the terminal, but at least what texts need, and 80 if it is not
// known.
func (d *Desk) Columns() int {
	if n := d.width(); n > 0 {
		return max(n, 40)
	}
	return cli.Columns
}

// dataLimit is the greatest size in bytes of a request given as JSON.
const dataLimit = 16 << 20

// ReadData returns the request from the place that --request names.
func (d *Desk) ReadData(ctx context.Context, data string) (text []byte, err error) {
	switch {
	case data == "-":
		text, err = d.ReadFile(ctx, "--request", data, dataLimit)
	case strings.HasPrefix(data, "@"):
		text, err = d.ReadFile(ctx, "--request", data[1:], dataLimit)
	default:
		text, err = input.UTF8([]byte(data)) // a shell may have kept the byte order mark of a file
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, text...), nil // not nil, which would mean a random request
}

// Interrupted returns the error of an interrupted experiment. It says what was measured, and where the result is.
func (d *Desk) Interrupted(measured, id string) error {
	return cli.With(ExitNoWord, fmt.Errorf("interrupted%s: %s", d.Stored("", id), measured))
}

// Unanswered returns the error of a result that does not answer for some arm; nil if it answers for all.
func (d *Desk) Unanswered(r *result.Result, found *claim.Analysis) error {
	switch refused, lacking := measure.Unanswered(r, found); {
	case refused != "":
		return cli.With(ExitNoWord,
			fmt.Errorf("checks failed, so that there is no valid answer: %v%s", refused,
				d.Stored("the result is ", r.ID)))
	case lacking != "":
		return cli.With(ExitUndecided,
			fmt.Errorf("too little was measured for an answer: %v%s", lacking, d.Stored("the result is ", r.ID)))
	}
	return nil
}

// FewArms returns the error of an experiment that has too few arms left.
func (d *Desk) FewArms(r *result.Result) error {
	return fmt.Errorf("%s%s", measure.FewArms(r), d.Stored("what was measured is ", r.ID))
}

// DescribeError describes an error for the user. If a name is unknown in its place but known elsewhere, it says so:
// "kafka" in the place of a preset is a protocol.
func (d *Desk) DescribeError(err error) string { return d.Services.Hidden(d.described(err)) }

func (d *Desk) described(err error) string {
	text := Describe(err)
	if d.Unkept != nil && errors.Is(err, d.Unkept) && err != d.Unkept { //nolint:errorlint // only this error itself
		return text + "; " + Describe(d.Unkept)
	}
	coded := new(wirelab.Error)
	if !errors.As(err, &coded) || coded.Unknown == "" {
		return text
	}
	says := prepare.Elsewhere(&d.Lab, coded.Unknown)
	quoted := fmt.Sprintf("%.100q", coded.Unknown)
	if says == "" || !strings.Contains(text, quoted) {
		return text
	}
	return strings.Replace(text, quoted, quoted+"; "+coded.Unknown+" is "+says, 1)
}

// The exit codes, as in "wirelab help exit-codes".
const (
	ExitOK        = cli.OK
	ExitFailed    = cli.Failed
	ExitUndecided = 2
	ExitNoWord    = cli.Interrupted
	ExitUsage     = cli.WrongUsage
)

// ErrPartial is wrapped by the error of an experiment that ended without a valid answer and whose result is stored:
// exit code 3.
var ErrPartial = errors.New("no valid answer")

// ExitCodeOf returns the exit code of an error that a command returned.
func ExitCodeOf(err error) int {
	var own *cli.Exit
	if (errors.Is(err, ErrPartial) || errors.Is(err, prepare.ErrInterrupted)) && !errors.As(err, &own) {
		return ExitNoWord
	}
	return cli.Code(err)
}

// Describe returns an error for the person at the terminal.
func Describe(err error) string {
	if errors.Is(err, ErrPartial) {
		return cli.Bare(err)
	}
	return cli.Describe(err)
}

// New returns what commands share, with all workloads.
func New(terminal cli.Terminal, args []string, getenv func(string) string) *Desk {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	a := &Desk{Terminal: terminal, args: args}
	tell := cli.Teller{Terminal: &a.Terminal}
	a.CommandLine, a.ReadFile = a.commandLine, a.readFile
	a.Fail = func(err error) error { return cli.With(ExitFailed, err) }
	a.Lab = prepare.Lab{
		Catalog: all.Works(), Getenv: getenv, Tell: tell, Now: time.Now, Absences: report.Absences,
		Watching: func(what string) prepare.Watch { return a.watch(what) },
	}
	a.Services = services.Services{
		Getenv: getenv, Tell: tell, ReadFile: a.readFile, ReadData: a.ReadData,
		Works: &a.Catalog,
	}
	a.Databases = databases.Databases{Getenv: getenv, Tell: tell}
	return a
}

// watcher shows an experiment's steps on standard error, so that a report on
// standard output stays clean.
type watcher struct{ *cli.Activity }

// watch shows an activity until the watcher is done.
func (d *Desk) watch(what string) watcher { return watcher{d.Doing(what)} }

// Observe shows a step.
func (w watcher) Observe(e experiment.Event) { w.show("", e) }

// ObserveAs is Observe for work before an experiment, which what describes.
func (w watcher) ObserveAs(what string) func(experiment.Event) {
	return func(e experiment.Event) {
		if e.Phase != experiment.RoundOver { // such a round does not belong to the experiment
			w.show(what, e)
		}
	}
}

func (w watcher) show(what string, e experiment.Event) {
	text := progress.Text(progress.Event{
		Phase: what + string(e.Phase), RoundOver: e.Phase == experiment.RoundOver,
		Round: e.Round, RoundsMin: e.RoundsMin, RoundsMax: e.RoundsMax,
		Step: e.Step, Steps: e.Steps, Arm: e.Arm, Load: e.Load,
		Elapsed: e.Elapsed, Left: e.Left, Width: e.Width, Goal: e.Goal,
	})
	if e.Phase == experiment.RoundOver || e.Phase == experiment.Again {
		w.Stage(text)
	} else {
		w.Step(text)
	}
}

// readFile reads a file that a flag names, until ctx ends; flag is "" for an argument, and the name "-" is standard
// input.
func (d *Desk) readFile(ctx context.Context, flag, name string, most int64) (data []byte, err error) {
	if name == "-" {
		read := d.Reading()
		data, err = input.Reader(ctx, d.Stdin, most)
		read()
	} else {
		data, err = input.File(ctx, name, most)
	}
	return data, fault.Unread(flag, name, err)
}

// CompleteIDs completes the ids of results for a shell, as far as they can be read.
func (d *Desk) CompleteIDs(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ids := []string{measure.LatestWord}
	err := d.WithStore(c.Context(), func(s store.Store) error {
		list, err := s.List(c.Context(), store.Filter{})
		for _, m := range list {
			ids = append(ids, m.ID)
			if m.Label != "" {
				ids = append(ids, m.Label)
			}
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// Last closes what commands opened after a command has returned. It returns errors that are still to be reported.
func (d *Desk) Last() error {
	d.Fleet.Close()
	return fault.Both(d.Unkept, d.Databases.Close())
}

// ExitCode is [ExitCodeOf], except that a result that could not be stored is always a failure. With thresholds it is
// not exit code 1, which means only that a threshold is exceeded.
func (d *Desk) ExitCode(err error) int {
	if d.Unkept == nil || !errors.Is(err, d.Unkept) {
		return ExitCodeOf(err)
	}
	thresholds := slices.ContainsFunc(d.args, func(arg string) bool { return strings.HasPrefix(arg, "--fail-if") })
	switch alone := err == d.Unkept; { //nolint:errorlint // only this error itself, not one joined to it
	case thresholds && alone:
		return ExitNoWord
	case thresholds:
		return ExitCodeOf(err)
	}
	return ExitCodeOf(d.Unkept)
}

// width returns the number of the terminal's columns; 0 if it is not known. COLUMNS comes first, for users who want
// another width.
func (d *Desk) width() int {
	if n, err := strconv.Atoi(d.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	f, ok := cli.FileOf(d.Stdout)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
