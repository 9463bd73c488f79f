package wirelab

import "wirelab/wire/status"

// What crosses every wire when a call fails is in package status, which programs use that need nothing of the lab.
// Here are its names, for those who speak of workloads too.
type (
	// Code says what kind of failure an [Error] is.
	Code = status.Code
	// Error is the one error that crosses wires.
	Error = status.Error
	// Cause says what a caller met when no answer came.
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

// ParseCode is the inverse of the method String of [Code]. An unknown name reads as [Internal] with ok false.
func ParseCode(name string) (c Code, ok bool) { return status.ParseCode(name) }

// Errorf returns an *Error. It takes a format and does not wrap.
func Errorf(code Code, format string, args ...any) error { return status.Errorf(code, format, args...) }

// CodeOf tells an error's code. CodeOf(nil) panics.
func CodeOf(err error) Code { return status.CodeOf(err) }

// Public returns err as the *Error that may be shown to the peer.
func Public(err error) *Error { return status.Public(err) }

// StatusCause is the cause of an answer that has a status of HTTP and no error that we know.
func StatusCause(code int) Cause { return status.StatusCause(code) }

// Lost returns an *Error of a call that below kept from an answer.
func Lost(code Code, below error, format string, args ...any) error {
	return status.Lost(code, below, format, args...)
}

// Caused returns an *Error with a cause that the caller knows.
func Caused(cause Cause, code Code, format string, args ...any) error {
	return status.Caused(cause, code, format, args...)
}

// CauseOf tells what an error of a call came from.
func CauseOf(err error) Cause { return status.CauseOf(err) }

// CauseOfText tells a cause by a text that a library wrote.
func CauseOfText(text string) Cause { return status.CauseOfText(text) }

// UnknownName is the error for a name that is not known: it says which known names may be meant.
func UnknownName(what, name string, known []string, whole ...string) error {
	return status.UnknownName(what, name, known, whole...)
}

// Known is what [UnknownName] says behind the name.
func Known(name string, known []string, whole ...string) string {
	return status.Known(name, known, whole...)
}
