package wirelab

import "wirelab/wire/status"

// Errors that cross every wire are defined in package status, which programs that need nothing of the lab use.
// These are its names for packages that use workloads too.
type (
	// Code says what kind of failure an [Error] is.
	Code = status.Code
	// Error is the one error type that crosses wires.
	Error = status.Error
	// Cause says why a caller got no answer.
	Cause = status.Cause
)

// The codes, with the meaning they have on every wire.
const (
	Internal          = status.Internal
	InvalidArgument   = status.InvalidArgument
	NotFound          = status.NotFound
	Conflict          = status.Conflict
	PermissionDenied  = status.PermissionDenied
	Unauthenticated   = status.Unauthenticated
	ResourceExhausted = status.ResourceExhausted
	DeadlineExceeded  = status.DeadlineExceeded
	Canceled          = status.Canceled
	Unavailable       = status.Unavailable
	Unimplemented     = status.Unimplemented
)

// The causes.
const (
	Answered    = status.Answered
	Refused     = status.Refused
	Unreachable = status.Unreachable
	Reset       = status.Reset
	Closed      = status.Closed
	TimedOut    = status.TimedOut
	BadTLS      = status.BadTLS
	BadName     = status.BadName
	BadProtocol = status.BadProtocol
	Descriptors = status.Descriptors
	GivenUp     = status.GivenUp
	NoCause     = status.NoCause
)

// Codes returns every code, for tables that must be total.
func Codes() []Code { return status.Codes() }

// ParseCode is the inverse of the method String of [Code]. An unknown name gives [Internal] and ok false.
func ParseCode(name string) (c Code, ok bool) { return status.ParseCode(name) }

// Errorf returns an *Error with a formatted message. It does not wrap.
func Errorf(code Code, format string, args ...any) error { return status.Errorf(code, format, args...) }

// CodeOf returns the code of an error. CodeOf(nil) panics.
func CodeOf(err error) Code { return status.CodeOf(err) }

// Public returns err as the *Error that may be shown to the peer.
func Public(err error) *Error { return status.Public(err) }

// StatusCause returns the cause for a reply with an HTTP status and no error in a known format.
func StatusCause(code int) Cause { return status.StatusCause(code) }

// Lost returns an *Error for a call that got no answer because of below.
func Lost(code Code, below error, format string, args ...any) error {
	return status.Lost(code, below, format, args...)
}

// Caused returns an *Error with a cause that the caller knows.
func Caused(cause Cause, code Code, format string, args ...any) error {
	return status.Caused(cause, code, format, args...)
}

// CauseOf returns the cause of a call's error.
func CauseOf(err error) Cause { return status.CauseOf(err) }

// CauseOfText returns the cause that matches an error text of a library.
func CauseOfText(text string) Cause { return status.CauseOfText(text) }

// UnknownName returns the error for a name that is not known. It suggests known names that are similar.
func UnknownName(what, name string, known []string, whole ...string) error {
	return status.UnknownName(what, name, known, whole...)
}

// Known returns the part of the message of [UnknownName] that follows the name.
func Known(name string, known []string, whole ...string) string {
	return status.Known(name, known, whole...)
}
