package main

import (
	"github.com/mattn/go-isatty"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/services"
	"wirelab/results/measure"
	"wirelab/results/report/terminal"
)

// app is what commands share: the world outside, and what there is to run.
type app struct {
	cli.Terminal
	measure.Measurer
	args []string // as typed, without the program's name
	// full is what --full says: print all that was measured.
	full bool
	// refused is what --show-refused says: print the values that checks refused, marked.
	refused bool
}

// terminal reports whether standard output is a terminal.
func (a *app) terminal() bool {
	f, ok := cli.FileOf(a.Stdout)
	return ok && isatty.IsTerminal(f.Fd())
}

// colour reports whether to print in colour: on a terminal that can, unless
// NO_COLOR is set to anything (no-color.org).
func (a *app) colour() bool {
	return a.terminal() && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}

// style is how to write at the terminal there is.
func (a *app) style() terminal.Style {
	return terminal.Style{Color: a.colour(), Width: a.width(), Refused: a.refused}
}

// addFullFlag adds the flag to a command that prints a result.
func (a *app) addFullFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&a.full, "full", false, "print every table and note instead of the short answer")
}

// addRefusedFlag adds the flag to a command that prints a result.
func (a *app) addRefusedFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&a.refused, "show-refused", false, "also print values that a check refused, in parentheses, with the reasons")
}

// cannotMark refuses --show-refused for a form in which a refused value could not be told
// from one that holds; instead says where it can.
func (a *app) cannotMark(form, instead string) error {
	if !a.refused {
		return nil
	}
	return cli.Usage("--show-refused: %s has no way to mark a refused value, and leaves it out; %s", form, instead)
}

// commandLine is what was typed, as a shell would take it again, without secrets: it is stored with results.
func (a *app) commandLine() string { return services.TypedLine(a.args, a.Services.Hidden) }

// columns is how wide to print: as the terminal is, at least as texts need, and 80 where nobody says.
func (a *app) columns() int {
	if n := a.width(); n > 0 {
		return max(n, 40)
	}
	return cli.Columns
}
