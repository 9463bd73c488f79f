package status

import (
	"context"
	"errors"
	"fmt"
)

// Code says what kind of failure an [Error] is. The set is closed: every wire
// translates exactly these, both ways, in one table, so that a caller sees the
// same code whichever way the call travelled.
type Code uint8

// The codes, with the meaning they have on every wire. They are a subset of
// the canonical codes of gRPC, which every other protocol's own set maps onto.
const (
	// Internal is a fault in the service. It is the zero value so that an error no one classified is never
	// mistaken for the caller's mistake.
	Internal Code = iota
	// InvalidArgument is a request outside the operation's contract.
	InvalidArgument
	// NotFound is a request for something that does not exist.
	NotFound
	// Conflict is a request that contradicts stored data.
	Conflict
	// PermissionDenied is a known caller without the right.
	PermissionDenied
	// Unauthenticated is a caller the outcome is unknown.
	Unauthenticated
	// ResourceExhausted is a request beyond a stated bound.
	ResourceExhausted
	// DeadlineExceeded is a call that ran out of time.
	DeadlineExceeded
	// Canceled is a call its caller gave up.
	Canceled
	// Unavailable is a peer that could not be reached or went away.
	Unavailable
	// Unimplemented is an operation the peer, or the wire, does not have.
	Unimplemented
)

// codeNames spells the codes as they appear in transcripts, reports and error bodies.
var codeNames = [...]string{
	Internal:          "internal",
	InvalidArgument:   "invalid_argument",
	NotFound:          "not_found",
	Conflict:          "conflict",
	PermissionDenied:  "permission_denied",
	Unauthenticated:   "unauthenticated",
	ResourceExhausted: "resource_exhausted",
	DeadlineExceeded:  "deadline_exceeded",
	Canceled:          "canceled",
	Unavailable:       "unavailable",
	Unimplemented:     "unimplemented",
}

// String returns the code's name, such as "not_found".
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code(%d)", uint8(c))
}

// Codes returns every code, for tables that must be total.
func Codes() []Code {
	all := make([]Code, len(codeNames))
	for i := range all {
		all[i] = Code(i)
	}
	return all
}

// ParseCode is the inverse of [Code.String]. An unknown name reads as
// [Internal] with ok false.
func ParseCode(name string) (c Code, ok bool) {
	for i, n := range codeNames {
		if n == name {
			return Code(i), true
		}
	}
	return Internal, false
}

// Error is the one error that crosses wires: its code and message arrive as
// they were sent. Message is written for the caller and holds no internal text.
type Error struct {
	Code    Code
	Message string
	// Unknown is the name that is not known, where that is the fault; "" else. It does not cross wires:
	// it lets a program say what the name stands for elsewhere.
	Unknown string
	// Cause is why no answer came, where there was none; "" of what a peer answered. It does not cross wires.
	Cause Cause
}

// Error returns "code: message".
func (e *Error) Error() string { return e.Code.String() + ": " + e.Message }

// Behind returns an error that says the same with a text in front of it, and keeps what programs decide by.
func (e *Error) Behind(text string) error {
	return &Error{Code: e.Code, Message: text + e.Message, Unknown: e.Unknown, Cause: e.Cause}
}

// Errorf returns an *Error. Like fmt.Errorf it takes a format, unlike it it
// does not wrap: what travels must not depend on what cannot.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf tells an error's code: that of the *Error inside, or of a context
// that ended, else [Internal]. Decide by this, never by text. CodeOf(nil)
// panics, since success has no code: asking is a mistake in the source.
func CodeOf(err error) Code {
	if err == nil {
		panic("status: CodeOf(nil)")
	}
	var coded *Error
	switch {
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Internal
}

// Public returns err as the *Error that may be shown to the peer: itself if
// it is coded, else its code with a message that gives nothing away.
func Public(err error) *Error {
	var coded *Error
	if errors.As(err, &coded) {
		return coded
	}
	code := CodeOf(err)
	switch code {
	case DeadlineExceeded:
		return &Error{Code: code, Message: "deadline exceeded"}
	case Canceled:
		return &Error{Code: code, Message: "canceled"}
	}
	return &Error{Code: Internal, Message: "internal error"}
}
