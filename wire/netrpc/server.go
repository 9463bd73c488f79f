package netrpc

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/rpc"
	"slices"
	"sync"
	"time"

	"wirelab"
	"wirelab/wire/acceptloop"
)

// Serve answers calls of the methods of receiver, as net/rpc finds them, under
// the given name. They must take a [Request] and fill a [Reply] by [Answer].
// It follows the contract of [wirelab.Server].
func Serve(ctx context.Context, at wirelab.Endpoint, name string, receiver any, beside ...Beside) error {
	if at.Listener == nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "net/rpc needs a listener")
	}
	calls := rpc.NewServer()
	err := errors.Join(calls.RegisterName(name, receiver), calls.RegisterName(control, Control{}))
	for _, b := range beside {
		err = errors.Join(err, calls.RegisterName(b.Name, b.Receiver))
	}
	if err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "register: %v", err)
	}
	base, cut := context.WithCancel(context.Background())
	defer cut()
	s := &server{calls: calls, base: base, sessions: map[*session]struct{}{}}
	err = acceptloop.Loop(ctx, at.Listener, s.attend)
	s.stop(at.DrainTime(), cut)
	return err
}

// Beside is another service on the same server, under its own name and with arguments and replies of another kind:
// a published service whose clients must be answered. Its arguments are [Admitted]. Errors of its methods travel as
// text, as usual in net/rpc. The methods must not panic, since net/rpc would end the process.
type Beside struct {
	Name     string
	Receiver any
}

// server is what the sessions of one Serve share.
type server struct {
	calls *rpc.Server
	base  context.Context // ended by a cut

	mu       sync.Mutex // guards all below
	sessions map[*session]struct{}
	running  sync.WaitGroup
}

// attend starts to answer a connection.
func (s *server) attend(conn net.Conn) {
	session := newSession(s.base, conn)
	s.mu.Lock()
	s.sessions[session] = struct{}{}
	s.mu.Unlock()
	s.running.Go(func() {
		s.calls.ServeCodec(session) // returns when the calls it took are answered
		session.end()
		s.mu.Lock()
		delete(s.sessions, session)
		s.mu.Unlock()
	})
}

// stop reads no more calls, waits for those in flight, and cuts the rest after limit.
func (s *server) stop(limit time.Duration, cut context.CancelFunc) {
	for _, session := range s.left() {
		session.drain()
	}
	timer := time.AfterFunc(limit, func() {
		cut()
		for _, session := range s.left() {
			_ = session.conn.Close()
		}
	})
	s.running.Wait()
	timer.Stop()
}

func (s *server) left() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.sessions))
}

// session is one connection of a server, as net/rpc's codec.
type session struct {
	*stream
	ctx   context.Context
	close context.CancelFunc // ends ctx
	// slots holds one token for each call in flight: the bound of the
	// goroutines that net/rpc starts.
	slots   chan struct{}
	seq     uint64 // of the header read last; the reading goroutine's
	closing sync.Once

	mu       sync.Mutex // guards all below
	draining bool
	broken   bool                          // a request could not be read, so nothing after it can
	calls    map[uint64]context.CancelFunc // in flight, by number
}

var _ rpc.ServerCodec = (*session)(nil)

func newSession(base context.Context, conn net.Conn) *session {
	s := &session{
		stream: newStream(conn), slots: make(chan struct{}, wirelab.MaxStreams), calls: map[uint64]context.CancelFunc{},
	}
	s.ctx, s.close = context.WithCancel(base)
	return s
}

// drain makes the session read no more. What it has read is answered.
func (s *session) drain() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	_ = s.conn.SetReadDeadline(time.Unix(1, 0)) // any time that has passed
}

// ReadRequestHeader implements [rpc.ServerCodec]. A connection that ends, in
// whatever way, ends the calls on it; a drain does not.
func (s *session) ReadRequestHeader(r *rpc.Request) error {
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	if !broken {
		if err := s.header(r); err == nil {
			s.seq = r.Seq
			return nil
		}
	}
	s.mu.Lock()
	draining := s.draining
	s.mu.Unlock()
	if !draining {
		s.close()
	}
	return io.EOF // the only end that net/rpc takes without a word
}

// ReadRequestBody implements [rpc.ServerCodec].
func (s *session) ReadRequestBody(body any) error {
	err := s.decode(body)
	if err == nil {
		switch body := body.(type) {
		case *CancelRequest:
			s.mu.Lock()
			cancel := s.calls[body.Seq]
			s.mu.Unlock()
			if cancel != nil {
				cancel()
			}
			// Its own answer takes a place like any other, but only now: the
			// call it cancels may be what frees one.
			err = s.begin(func() {})
		case admitted:
			var cancel context.CancelFunc
			ctx := s.ctx
			if timeout := body.timeout(); timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, timeout)
			} else {
				ctx, cancel = context.WithCancel(ctx)
			}
			body.admit(ctx)
			err = s.begin(cancel)
		case Admitted:
			ctx, cancel := context.WithCancel(s.ctx)
			body.Admit(ctx)
			err = s.begin(cancel)
		}
	}
	if err != nil {
		s.mu.Lock()
		s.broken = true
		s.mu.Unlock()
	}
	return err
}

// begin takes a place for the call read last, which its answer gives back.
func (s *session) begin(cancel context.CancelFunc) error {
	s.slots <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[s.seq] != nil {
		cancel()
		<-s.slots
		return wirelab.Errorf(wirelab.InvalidArgument, "two calls of number %d", s.seq)
	}
	s.calls[s.seq] = cancel
	return nil
}

// WriteResponse implements [rpc.ServerCodec]. Of a request that could not be
// read nothing is said: the connection ends, which is what there is to say.
func (s *session) WriteResponse(r *rpc.Response, body any) error {
	s.mu.Lock()
	cancel := s.calls[r.Seq]
	delete(s.calls, r.Seq)
	unread := s.broken && cancel == nil
	s.mu.Unlock()
	if cancel != nil {
		defer func() {
			cancel()
			<-s.slots
		}()
	}
	if unread {
		return nil
	}
	_, err := s.write(r, body)
	if err != nil {
		_ = s.conn.Close()
	}
	return err
}

// Close implements [rpc.ServerCodec].
func (s *session) Close() error {
	s.end()
	return nil
}

// end closes the connection and ends what depends on it.
func (s *session) end() {
	s.closing.Do(func() {
		s.close()
		_ = s.conn.Close()
	})
}
