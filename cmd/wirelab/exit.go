package main

import (
	"errors"

	"wirelab/cli"
)

// The exit codes, as "wirelab help exit-codes" tells them.
const (
	exitOK        = cli.OK
	exitFailed    = cli.Failed
	exitUndecided = 2
	exitNoWord    = cli.Interrupted
	exitUsage     = cli.WrongUsage
)

const exitCodesText = `Exit codes of wirelab, for scripts:

   0  Done. No check refused an arm's numbers of the metric that decides (--primary);
      what is claimed, "no difference shown" too, and which other metrics are
      refused or undecided, the report says. With --fail-if every threshold is
      proved to be kept; what "verify" looked at agrees; every primary conclusion
      holds in a replay.
   1  What was asked for failed: a call got an error, a server could not be
      reached, an arm failed, the store is full. With --fail-if: a threshold is
      proved to be crossed, and nothing else. A file that "verify" finds edited;
      a conclusion that a replay contradicts. A load generator that "audit" finds
      to report what is not true.
   2  With --fail-if: no threshold is proved to be crossed, and not all are
      proved to be kept. More rounds would decide; the report says how many. Of
      some arm's capacity there is only a bound.
   3  There is no valid answer: the experiment was interrupted, or a check found
      the numbers of the metric that decides invalid, or with --fail-if something
      failed. What was measured is stored all the same, and its id printed. An arm was absent, since a broker
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

// exitCodeOf tells the exit code of an error that a command returned.
func exitCodeOf(err error) int {
	var own *cli.Exit
	if errors.Is(err, errPartial) && !errors.As(err, &own) {
		return exitNoWord
	}
	return cli.Code(err)
}

// describe returns an error for the person at the terminal.
func describe(err error) string {
	if errors.Is(err, errPartial) {
		return cli.Bare(err)
	}
	return cli.Describe(err)
}
