package fault

import (
	"context"
	"errors"
	"slices"
	"strings"

	"wirelab/wire/status"
)

// Both returns the first of two errors that is one, or both joined.
func Both(err, another error) error {
	switch {
	case err == nil:
		return another
	case another == nil:
		return err // unchanged: a join would hide its type from Describe
	}
	return errors.Join(err, another)
}

// Describe returns an error for the person at the terminal: in plain words, and without the code, which is for
// programs.
func Describe(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return Bare(err)
}

// Bare is Describe for an error that says more of an interruption than that it was one.
func Bare(err error) string {
	// Only if the error itself is the coded one: text around it is context that a caller added on purpose.
	if coded, ok := err.(*status.Error); ok { //nolint:errorlint // see above
		return Plain(coded.Message)
	}
	// Errors that were joined may be one fault that was met several times.
	return strings.Join(slices.Compact(strings.Split(Text(err), "\n")), "\n")
}

// Unread returns the error for a file that could not be read, given the error of package input. flag is the flag
// that names the file, "" for an argument. An interruption is returned unchanged. A file that is not text, or is
// too long, is a mistake of the user.
func Unread(flag, name string, err error) error {
	coded := new(status.Error)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &coded):
		if flag != "" {
			name = flag + " " + name
		}
		return status.Errorf(status.InvalidArgument, "%s: %s", name, coded.Message)
	}
	return Read(flag, name, err)
}
