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
