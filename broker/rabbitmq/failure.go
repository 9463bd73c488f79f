package rabbitmq

import (
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
)

// codeOf maps a reply code of AMQP. Codes that are not listed mean a mistake in one of the two ends.
func codeOf(reply int) wirelab.Code {
	switch reply {
	case amqp.ContentTooLarge:
		return wirelab.InvalidArgument
	case amqp.NoRoute, amqp.InvalidPath, amqp.NotFound:
		return wirelab.NotFound
	case amqp.AccessRefused, amqp.NotAllowed:
		return wirelab.PermissionDenied
	case amqp.ResourceLocked, amqp.PreconditionFailed:
		return wirelab.Conflict
	case amqp.ResourceError:
		return wirelab.ResourceExhausted
	case amqp.NotImplemented:
		return wirelab.Unimplemented
	case amqp.ConnectionForced, amqp.InternalError,
		amqp.FrameError,   // of the library, for a broken connection
		amqp.ChannelError: // and for a closed one
		return wirelab.Unavailable
	}
	return wirelab.Internal
}

// coded gives an error of the library, or of the network, its code. Its text contains no password: errors of the
// library have only the server's text and addresses, and faults of an address are reported by [Open].
func (b *Broker) coded(err error) error {
	var known *wirelab.Error
	var replied *amqp.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, amqp.ErrCredentials), errors.Is(err, amqp.ErrSASL):
		return wirelab.Errorf(wirelab.Unauthenticated, "RabbitMQ at %s: user or password not allowed", b.address)
	case errors.As(err, &replied):
		code := codeOf(replied.Code)
		return wirelab.Errorf(code, "RabbitMQ at %s: %s", b.address, replied.Reason)
	}
	return wirelab.Errorf(wirelab.Unavailable, "RabbitMQ at %s: %v", b.address, err)
}

// over returns the error for a context that ended during a wait. If the broker was away, Unavailable is more
// informative than an exceeded deadline.
func over(ctx context.Context, away bool, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return wirelab.Errorf(wirelab.Canceled, "canceled: %s", what)
	case away:
		return wirelab.Errorf(wirelab.Unavailable, "%s", what)
	}
	return wirelab.Errorf(wirelab.DeadlineExceeded, "time is up: %s", what)
}

// final reports whether an error is permanent: it concerns the queue or the user rather than an unavailable broker.
func final(err error) bool {
	switch wirelab.CodeOf(err) {
	case wirelab.Unavailable, wirelab.DeadlineExceeded, wirelab.Canceled, wirelab.ResourceExhausted, wirelab.Internal:
		return false
	}
	return true
}
