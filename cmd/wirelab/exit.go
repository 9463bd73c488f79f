package main

import (
	"errors"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/prepare"
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

   0  Done. The deciding metric (--primary) is valid for every arm. There may be
      no difference, and other metrics may be refused or undecided; the report
      says so. With --fail-if: all thresholds are met. With verify: nothing was
      edited. With replay: every primary conclusion holds.
   1  The command failed: a call got an error, a server could not be reached, an
      arm failed, the store is full. With --fail-if: a threshold is exceeded, and
      nothing else.
      With verify: the file was edited. With replay: a conclusion is
      contradicted. With audit: the tool does not report true latencies.
   2  More rounds are needed. An arm has too few calls for the deciding metric.
      With --fail-if: no threshold is exceeded, but not all are proved to be met;
      the report says how many rounds would decide. With capacity: an arm has
      only a bound.
   3  There is no valid answer. The experiment was interrupted; or a check refused
      the deciding metric; or nothing was measured of an arm; or an arm was left
      out because its broker is missing; or audit could not judge the tool. With
      --fail-if: a check refused the metric of a threshold, or the command failed.
      What was measured is stored, and its id is printed.
  64  The command is wrong: an unknown name or flag, a plan with an error, a file
      or result that is not there. Nothing was run.

With --fail-if the worst finding counts: 1, then 3, then 2, then 0.

Errors are on standard error, in the form "wirelab: what happened; what to do".`

// errPartial is wrapped by the error of an experiment that ended without a
// valid answer, with what was measured stored: exit code 3.
var errPartial = errors.New("no valid answer")

// exitCodeOf tells the exit code of an error that a command returned.
func exitCodeOf(err error) int {
	var own *cli.Exit
	if (errors.Is(err, errPartial) || errors.Is(err, prepare.ErrInterrupted)) && !errors.As(err, &own) {
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
