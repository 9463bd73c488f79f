package main

import (
	"errors"
	"slices"
	"strings"

	"wirelab/cmd/internal/cli"
)

// last is what is done when a command has returned, and what is told then.
func (a *app) last() error { return cli.Both(a.Unkept, a.Databases.Close()) }

// exitCode is [exitCodeOf], but where a result could not be stored. That is a failure, whatever else the answer is; with
// thresholds exit code 1 means that one is exceeded, and nothing else.
func (a *app) exitCode(err error) int {
	if a.Unkept == nil || !errors.Is(err, a.Unkept) {
		return exitCodeOf(err)
	}
	thresholds := slices.ContainsFunc(a.args, func(arg string) bool { return strings.HasPrefix(arg, "--fail-if") })
	switch alone := err == a.Unkept; { //nolint:errorlint // it alone, and nothing joined to it
	case thresholds && alone:
		return exitNoWord
	case thresholds:
		return exitCodeOf(err)
	}
	return exitCodeOf(a.Unkept)
}
