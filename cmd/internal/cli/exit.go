package cli

import (
	"errors"
	"fmt"

	"wirelab/internal/fault"
	"wirelab/wire/status"
)

// The exit codes with the same meaning in every program. See docs/adr/0009-usage-errors-exit-with-64.md.
const (
	OK          = 0
	Failed      = 1
	Interrupted = 3
	WrongUsage  = 64 // EX_USAGE of sysexits.h
)

// Exit is an error with a given exit code. Without Err nothing is printed, since the command has printed everything.
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

// Unwrap returns Err, which may be nil.
func (e *Exit) Unwrap() error { return e.Err }

// With returns err with an exit code; err may be nil, see [Exit].
func With(code int, err error) error { return &Exit{code, err} }

// Usage returns a usage error.
func Usage(format string, args ...any) error {
	return With(WrongUsage, status.Errorf(status.InvalidArgument, format, args...))
}

// Code returns the exit code of an error that a command returned: the one of its [Exit], or the one for its kind.
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

// Describe returns an error for the user: in plain words, and without the code, which is for programs.
func Describe(err error) string { return fault.Describe(unwrapped(err)) }

// Bare is Describe for an error whose cause says more than that there was an interruption.
func Bare(err error) string { return fault.Bare(unwrapped(err)) }

// unwrapped returns an error without its exit code.
func unwrapped(err error) error {
	var own *Exit
	if errors.As(err, &own) && own.Err != nil {
		return own.Err
	}
	return err
}
