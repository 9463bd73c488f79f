package status

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"
)

// Cause says what a caller met when no answer came: more than the [Code], which is the
// same for a server that is gone and one that says that it is busy. Causes are for people
// who look for a fault: no program decides by them, and they cross no wire.
type Cause string

// The causes. A status of HTTP is one too: see [StatusCause].
const (
	Answered    Cause = "answered with an error" // the peer itself said so
	Refused     Cause = "refused"                // nothing listens there
	Unreachable Cause = "unreachable"            // there is no way there
	Reset       Cause = "reset"                  // the peer broke the connection, or the stream, off
	Closed      Cause = "closed"                 // the peer ended the connection without an answer
	TimedOut    Cause = "timed out"
	BadTLS      Cause = "TLS"
	BadName     Cause = "DNS"
	BadProtocol Cause = "protocol" // what came is no answer by the protocol's rules
	Descriptors Cause = "descriptors"
	GivenUp     Cause = "given up" // by the caller
	NoCause     Cause = "unknown"
)

// StatusCause is the cause of an answer that has a status of HTTP and no error that we know.
func StatusCause(status int) Cause { return Cause(fmt.Sprintf("status %d", status)) }

// Lost returns an *Error of a call that below kept from an answer: its code is code, and its
// cause what below tells.
func Lost(code Code, below error, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Cause: causeBelow(below)}
}

// Caused returns an *Error with a cause that the caller knows.
func Caused(cause Cause, code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// CauseOf tells what an error of a call came from. An *Error without a cause is the peer's
// own answer.
func CauseOf(err error) Cause {
	var coded *Error
	if !errors.As(err, &coded) {
		return causeBelow(err)
	}
	switch {
	case coded.Cause != "":
		return coded.Cause
	case coded.Code == DeadlineExceeded:
		return TimedOut
	case coded.Code == Canceled:
		return GivenUp
	}
	return Answered
}

// causeBelow tells what an error that we raised, or a library, came from.
func causeBelow(err error) Cause {
	var coded *Error
	if errors.As(err, &coded) && coded.Cause != "" {
		return coded.Cause
	}
	if cause := causeOfType(err); cause != "" {
		return cause
	}
	return CauseOfText(err.Error())
}

// causeOfType tells a cause by the types of an error; "" where they tell nothing.
func causeOfType(err error) Cause {
	var (
		name    *net.DNSError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		proof   *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		timed   net.Error
	)
	switch {
	case errors.As(err, &name):
		return BadName
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &proof), errors.As(err, &unknown):
		return BadTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return Reset
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return Unreachable
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return Descriptors
	case errors.Is(err, context.Canceled):
		return GivenUp
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT), errors.As(err, &timed) &&
		timed.Timeout():
		return TimedOut
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return Closed
	}
	return ""
}

// statusText finds a status of HTTP as libraries name it.
var statusText = regexp.MustCompile(`(?:^|status code received from server: )([1-5][0-9][0-9])\b`)

// causeTexts are what libraries leave of an error that they met below, where they keep no
// more than its text. The first that is found counts.
var causeTexts = []struct {
	text  string
	cause Cause
}{
	{"too many open files", Descriptors},
	{"error reading server preface: EOF", Closed},
	{"no such host", BadName},
	{"server misbehaving", BadName},
	{"x509: ", BadTLS},
	{"tls: ", BadTLS},
	{"TLS: ", BadTLS},
	{"CRYPTO_ERROR", BadTLS},
	{"authentication handshake failed", BadTLS},
	{"HTTP response to HTTPS client", BadTLS},
	{"connection refused", Refused},
	{"connection reset by peer", Reset},
	{"broken pipe", Reset},
	{"force closed via ClientConn.Close", Reset}, // what x/net tells calls once one of them could not be written
	{"RST_STREAM", Reset},
	{"REFUSED_STREAM", Reset},
	{"received from peer", Reset},
	{"network is unreachable", Unreachable},
	{"no route to host", Unreachable},
	{"i/o timeout", TimedOut},
	{"deadline exceeded", TimedOut},
	{"no recent network activity", TimedOut},
	{"timeout awaiting", TimedOut},
	{"PROTOCOL_ERROR", BadProtocol},
	{"FLOW_CONTROL_ERROR", BadProtocol},
	{"COMPRESSION_ERROR", BadProtocol},
	{"FRAME_SIZE_ERROR", BadProtocol},
	{"malformed", BadProtocol},
	{"without sending trailers", BadProtocol},
	{"error reading server preface", BadProtocol},
	{"frame too large", BadProtocol},
	{"GOAWAY", Closed},
	{"EOF", Closed},
	{"server closed", Closed},
	{"use of closed network connection", Closed},
	{"connection lost", Closed},
	{"transport is closing", Closed},
	{"connection is draining", Closed},
	{"Application error", Closed},
}

// CauseOfText tells a cause by a text that a library wrote; it is not for what a peer says.
func CauseOfText(text string) Cause {
	if status := statusText.FindStringSubmatch(text); status != nil {
		return Cause("status " + status[1])
	}
	for _, known := range causeTexts {
		if strings.Contains(text, known.text) {
			return known.cause
		}
	}
	return NoCause
}
