package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"wirelab"
)

// The exit codes, as "hermes help exit-codes" tells them; the numbers mean what they
// mean for wirelab.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 3
	exitUsage       = 64 // EX_USAGE of sysexits.h
)

const exitCodesText = `Exit codes of hermes, for scripts:

   0  Done. A node that was told to stop has stopped; everything published was
      acknowledged; a subscription got as many messages as were asked for, or was
      ended with Ctrl-C.
   1  What was asked for failed: no node could be reached, a publish was refused
      or nobody knows whether it was stored, a node's disk failed, a directory or a
      backup is damaged.
   3  Interrupted before it was done; what was acknowledged until then is stored.
      Or a directory that was to be checked is in use by a node.
  64  The command itself is wrong: an unknown name, flag or setting, a topic or
      group that is not there, or is there in another form.

Errors are on standard error as "hermes: what happened; what to do".`

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

// usage returns a usage error.
func usage(format string, args ...any) error {
	return &exit{exitUsage, wirelab.Errorf(wirelab.InvalidArgument, format, args...)}
}

// exitCodeOf tells the exit code of an error that a command returned: its
// own, or the one that fits its kind.
func exitCodeOf(err error) int {
	var own *exit
	if errors.As(err, &own) {
		return own.code
	}
	switch wirelab.CodeOf(err) {
	case wirelab.Canceled:
		return exitInterrupted
	case wirelab.InvalidArgument, wirelab.NotFound, wirelab.Conflict:
		return exitUsage
	}
	return exitFailed
}

// describe returns an error for the person at the terminal: without the code,
// which is for programs.
func describe(err error) string {
	if errors.Is(err, context.Canceled) {
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

// newExitCodes is a help topic: a command without anything to run.
func newExitCodes() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText}
}
