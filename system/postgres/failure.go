package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"wirelab"
)

// Coded returns an error of the driver as a [wirelab.Error]: a failure of the database becomes a code that
// callers can decide by, and nothing of the database's text, which may hold names, values and addresses, goes
// out. One that is a wirelab.Error already stays unchanged; nil stays nil. ctx is that of the call: its end is
// why much else fails.
func Coded(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var already *wirelab.Error
	if errors.As(err, &already) {
		return already
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code != queryCanceled {
		code, message := ofState(refused.Code)
		return wirelab.Errorf(code, "%s", message)
	}
	if ended := ctx.Err(); ended != nil {
		return wirelab.Public(ended)
	}
	switch {
	case errors.Is(err, puddle.ErrClosedPool):
		return wirelab.Errorf(wirelab.Unavailable, "the connections to the database were closed")
	case lost(err):
		return wirelab.Errorf(wirelab.Unavailable, "the database cannot be reached")
	case refused != nil:
		return wirelab.Errorf(wirelab.Canceled, "the database was told to give up")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return wirelab.Public(err)
	}
	return wirelab.Errorf(wirelab.Internal, "the database failed")
}

// queryCanceled is the state of a statement that someone told to stop: mostly we ourselves, when the call
// ended.
const queryCanceled = "57014"

// ofState translates an SQLSTATE. The message may name it: five characters out
// of PostgreSQL's own table give nothing away, and tell an operator where to look.
func ofState(state string) (wirelab.Code, string) {
	switch state {
	case "53100":
		return wirelab.ResourceExhausted, "the database's disk is full"
	case "53200", "53400":
		return wirelab.ResourceExhausted, "the database is out of memory (SQLSTATE " + state + ")"
	case "53300":
		return wirelab.Unavailable, "the database has no connection free"
	case "40001", "40P01":
		return wirelab.Conflict, "the database undid it for another's sake; try again"
	case "23505":
		return wirelab.Conflict, "it is there already"
	}
	if unavailable(state) {
		return wirelab.Unavailable, "the database is not available (SQLSTATE " + state + ")"
	}
	return wirelab.Internal, "the database failed (SQLSTATE " + state + ")"
}

// unavailable reports whether a state says that there is no server to ask: it starts, stops, crashed, only
// reads, or lets no one in.
func unavailable(state string) bool {
	switch state {
	case "57P01", "57P02", "57P03", "57P04", "57P05", "25006":
		return true
	}
	return len(state) == 5 && (state[:2] == "08" || state[:2] == "28")
}

// lost reports whether an error means that a connection is gone, or could not
// be made.
func lost(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return unavailable(refused.Code)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // the call ended, and with it its own connection only
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	var number syscall.Errno
	return errors.As(err, &connecting) || errors.As(err, &network) || errors.As(err, &number) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
