package cli

import (
	"errors"
	"fmt"

	"wirelab/internal/fault"
	"wirelab/wire/status"
)

// The exit codes that mean the same in every program. See docs/adr/0009-usage-errors-exit-with-64.md.
const (
	OK          = 0
	Failed      = 1
	Interrupted = 3
	WrongUsage  = 64 // EX_USAGE of sysexits.h
)

// Exit is an error with an exit code of its own. Without Err nothing is
// printed: the command has said what there was to say.
type Exit struct {
	Code int
	Err  error
}

// Error implements error.
func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns what it was wrapped around, or nil.
func (e *Exit) Unwrap() error { return e.Err }

// With returns err with an exit code; err may be nil, see [Exit].
func With(code int, err error) error { return &Exit{code, err} }

// Usage returns a usage error.
func Usage(format string, args ...any) error {
	return With(WrongUsage, status.Errorf(status.InvalidArgument, format, args...))
}

// Code tells the exit code of an error that a command returned: its
// own, or the one that fits its kind.
func Code(err error) int {
	var own *Exit
	if errors.As(err, &own) {
		return own.Code
	}
	switch status.CodeOf(err) {
	case status.Canceled:
		return Interrupted
	case status.InvalidArgument, status.NotFound, status.Conflict:
		return WrongUsage
	}
	return Failed
}

// Describe returns an error for the person at the terminal: in plain words, and without the code, which is
// for programs.
func Describe(err error) string { return fault.Describe(unwrapped(err)) }

// Bare is Describe for an error that says more of an interruption than that it was one.
func Bare(err error) string { return fault.Bare(unwrapped(err)) }

// unwrapped is an error without its exit code.
func unwrapped(err error) error {
	var own *Exit
	if errors.As(err, &own) && own.Err != nil {
		return own.Err
	}
	return err
}
