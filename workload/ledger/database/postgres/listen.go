package postgres

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/system/postgres"
)

// listener is a connection on which the database notifies the service that the log has grown. It rings the
// service's bell for all waiting streams.
type listener struct {
	alive context.Context // ends with the listener; its cause is the reason
	end   context.CancelCauseFunc
	done  chan struct{} // closed when its goroutine has ended
}

// Wait implements [ledger.Source]. If the connection is lost all waiting streams get Unavailable, since none of
// them could distinguish silence from a loss; the next one to wait opens a new connection.
func (s *service) Wait(ctx context.Context, head int64) (int64, error) {
	l, err := s.listening(ctx)
	if err != nil {
		return 0, err
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(l.alive, stop)()
	position, err := s.bell.Wait(waiting, head)
	if err != nil && ctx.Err() == nil {
		return 0, context.Cause(l.alive)
	}
	return position, err
}

// listening returns the listener, starting one if needed.
func (s *service) listening(ctx context.Context) (*listener, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.closed {
		return nil, errClosed
	}
	if s.listener != nil && s.listener.alive.Err() == nil {
		return s.listener, nil
	}
	conn, err := s.listen(ctx)
	if err != nil {
		return nil, postgres.Coded(ctx, err)
	}
	l := &listener{done: make(chan struct{})}
	// Not the caller's context: others use the listener, too. It ends with the connection or with the service.
	l.alive, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	s.listener = l
	go func() { // Close waits for it; it ends by itself if it loses its connection
		defer close(l.done)
		l.end(postgres.Coded(l.alive, s.heed(l.alive, conn)))
		postgres.CloseSoon(conn)
	}()
	return l, nil
}

// errClosed is the error of waiting streams when the service is closed.
var errClosed = wirelab.Errorf(wirelab.Unavailable, "the ledger was closed")

// headQuery reads the log's last position, once for each listener.
const headQuery = `SELECT coalesce(max(position), 0) AS head FROM transactions`

// listen opens a connection, subscribes it to notifications of postings, and rings the bell for postings made
// before.
func (s *service) listen(ctx context.Context) (*pgx.Conn, error) {
	conn, err := postgres.Connect(ctx, s.dsn, s.name)
	if err != nil {
		return nil, err
	}
	var head int64
	_, err = conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.name}.Sanitize())
	if err == nil {
		err = conn.QueryRow(ctx, headQuery).Scan(&head)
	}
	if err != nil {
		postgres.CloseSoon(conn)
		return nil, err
	}
	s.bell.Ring(head)
	return conn, nil
}

// heed rings for every notification, whose payload is a position, until ctx or the connection ends.
func (s *service) heed(ctx context.Context, conn *pgx.Conn) error {
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		position, err := strconv.ParseInt(n.Payload, 10, 64)
		if err != nil {
			return wirelab.Errorf(wirelab.Internal, "the database sent a position that cannot be read")
		}
		s.bell.Ring(position)
	}
}

// Close ends all waiting streams and the connections. It waits for running calls.
func (s *service) Close() error {
	s.turn <- struct{}{}
	s.closed = true
	l := s.listener
	<-s.turn
	if l != nil {
		l.end(errClosed)
		<-l.done
	}
	s.pool.Close()
	return nil
}
