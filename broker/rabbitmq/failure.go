package rabbitmq

import (
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
)

// codeOf is what a reply code of AMQP means. Those that are not named tell of a
// mistake in one of the two ends.
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
		amqp.FrameError,   // the library's for a connection that broke
		amqp.ChannelError: // and for one that is closed
		return wirelab.Unavailable
	}
	return wirelab.Internal
}

// coded gives an error of the library's, or of the network's, its code. Its text
// holds no password: the library's errors have the server's words and addresses
// only, and what is wrong with an address is told by [Open].
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

// over tells how a context ended while something was waited for. Where that was
// a broker which is away, time that is up says less than that.
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

// final reports whether an error stays however often one tries: it tells of the
// queue, or of the user, and not of a broker that is away.
func final(err error) bool {
	switch wirelab.CodeOf(err) {
	case wirelab.Unavailable, wirelab.DeadlineExceeded, wirelab.Canceled, wirelab.ResourceExhausted, wirelab.Internal:
		return false
	}
	return true
}
