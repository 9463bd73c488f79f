package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"wirelab"
)

// The exit codes, as "wirelab help exit-codes" tells them.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUndecided = 2
	exitNoWord    = 3
	exitUsage     = 64 // EX_USAGE of sysexits.h; see docs/adr/0009-usage-errors-exit-with-64.md
)

const exitCodesText = `Exit codes of wirelab, for scripts:

   0  Done. A comparison gave a claim for every arm, "no difference shown" too;
      with --fail-if every threshold is proved to be kept; what "verify" looked
      at agrees; every primary conclusion holds in a replay.
   1  What was asked for failed: a call got an error, a server could not be
      reached, an arm failed, the store is full. With --fail-if: a threshold is
      proved to be crossed, and nothing else. A file that "verify" finds edited;
      a conclusion that a replay contradicts. A load generator that "audit" finds
      to report what is not true.
   2  With --fail-if: no threshold is proved to be crossed, and not all are
      proved to be kept. More rounds would decide; the report says how many. Of
      some arm's capacity there is only a bound.
   3  There is no valid answer: the experiment was interrupted, or a check found
      its numbers invalid, or with --fail-if something failed. What was measured
      is stored all the same, and its id printed. An arm was absent, since a broker
      that it needs cannot be had here; the others were measured. A load generator
      that "audit" could not judge.
  64  The command itself is wrong: an unknown name or flag, a plan that does not
      hold together, a file or result that is not there. Nothing was run.

With --fail-if the worst finding counts: 1 before 3 before 2 before 0, since
what is proved stays proved, and what is invalid needs more than rounds.

Errors are on standard error as "wirelab: what happened; what to do".`

// errPartial is wrapped by the error of an experiment that ended without a
// valid answer, with what was measured stored: exit code 3.
var errPartial = errors.New("no valid answer")

// exit is an error with an exit code of its own. Without err nothing is
// printed: the command has said what there was to say.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// exitWith returns err with an exit code; err may be nil, see [exit].
func exitWith(code int, err error) error { return &exit{code: code, err: err} }

// usage returns a usage error.
func usage(format string, args ...any) error {
	return exitWith(exitUsage, wirelab.Errorf(wirelab.InvalidArgument, format, args...))
}

// exitCodeOf tells the exit code of an error that a command returned: its
// own, or the one that fits its kind.
func exitCodeOf(err error) int {
	var own *exit
	if errors.As(err, &own) {
		return own.code
	}
	if errors.Is(err, errPartial) || errors.Is(err, context.Canceled) {
		return exitNoWord
	}
	switch wirelab.CodeOf(err) {
	case wirelab.InvalidArgument, wirelab.NotFound, wirelab.Conflict:
		return exitUsage
	}
	return exitFailed
}

// describe returns an error for the person at the terminal: without the code,
// which is for programs.
func describe(err error) string {
	if errors.Is(err, context.Canceled) && !errors.Is(err, errPartial) {
		return "interrupted"
	}
	// Only an error that is nothing but the coded one: text around it is
	// context that somebody added on purpose.
	bare := err
	var own *exit
	if errors.As(err, &own) && own.err != nil {
		bare = own.err
	}
	if coded, ok := bare.(*wirelab.Error); ok { //nolint:errorlint // see above
		return coded.Message
	}
	return bare.Error()
}

// both returns the first of two errors that is one, or both joined.
func both(err, another error) error {
	switch {
	case err == nil:
		return another
	case another == nil:
		return err // as it is: a join would hide from describe what it is
	}
	return errors.Join(err, another)
}

// newExitCodes is a help topic: a command without anything to run.
func newExitCodes() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText}
}
