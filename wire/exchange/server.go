package exchange

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wirelab"
	"wirelab/wire/panics"
)

// Server answers calls on the connections it is given.
type Server struct {
	handlers [256]*Handler // by number; nil where there is none
	ctx      context.Context
	cut      context.CancelFunc // ends ctx, which every call's context comes from

	mu       sync.Mutex // guards all below
	sessions map[*session]struct{}
	stopping bool
	running  sync.WaitGroup // sessions, and the closing of them
}

// NewServer returns a server. It panics on two handlers of one number, which
// are a mistake in the source.
func NewServer(handlers ...Handler) *Server {
	ctx, cut := context.WithCancel(context.Background())
	s := &Server{ctx: ctx, cut: cut, sessions: map[*session]struct{}{}}
	for _, h := range handlers {
		if s.handlers[h.number] != nil {
			panic("exchange: two handlers of one number")
		}
		s.handlers[h.number] = &h
	}
	return s
}

// Attend answers the calls on conn until it ends or the server stops, then
// closes it.
func (s *Server) Attend(conn Conn) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	session := &session{server: s, ctx: ctx, link: newLink(conn, cancel)}
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		conn.Abort()
		return
	}
	s.running.Add(1)
	defer s.running.Done()
	s.sessions[session] = struct{}{}
	s.mu.Unlock()
	session.run()
	// Closing comes before waiting for the watch, which may be reading.
	conn.Close()
	session.link.inbox.close()
	s.mu.Lock()
	delete(s.sessions, session)
	s.mu.Unlock()
}

// Stop takes no new calls, waits up to drain for those in flight, then ends
// their contexts and connections and waits for their services, which must heed
// that. Every goroutine of the server has ended when it returns.
func (s *Server) Stop(drain time.Duration) {
	s.mu.Lock()
	s.stopping = true
	for session := range s.sessions {
		if session.state.Swap(stopping) == idle {
			s.running.Go(func() { session.link.conn.Close() })
		}
	}
	s.mu.Unlock()
	timer := time.AfterFunc(drain, s.abort)
	s.running.Wait()
	timer.Stop()
	s.cut()
}

// abort ends every call and connection that is left.
func (s *Server) abort() {
	s.cut()
	s.mu.Lock()
	left := slices.Collect(maps.Keys(s.sessions))
	s.mu.Unlock()
	for _, session := range left {
		session.link.conn.Abort()
	}
}

// What a session is doing. It goes from idle to busy with each call and back,
// and to stopping once, whence it takes no new call.
const (
	idle int32 = iota
	busy
	stopping
)

// session is one connection of a server. Its fields but state belong to the
// goroutine that runs it.
type session struct {
	server *Server
	ctx    context.Context // ends with the connection
	link   *link
	state  atomic.Int32

	streams bool  // the call being answered is followed by requests
	ended   bool  // and their end was read
	broken  error // what makes the connection unusable after this call
}

// run answers calls until the connection ends.
func (s *session) run() {
	for {
		k, content, err := s.link.receive()
		if err == nil && s.streams && !s.ended && k != kindCall {
			// The rest of a call that the service ended early.
			s.ended = k == kindEnd
			continue
		}
		var c call
		if err == nil && (k != kindCall || s.streams && !s.ended) {
			err = malformedf("message of kind %d where there should be a call", k)
		}
		if err == nil {
			c, err = parseCall(content)
		}
		if err != nil {
			s.refuse(err)
			return
		}
		if !s.state.CompareAndSwap(idle, busy) {
			return
		}
		if !s.answer(c) || !s.state.CompareAndSwap(busy, idle) {
			return
		}
	}
}

// answer answers a call and reports whether the connection can take another.
func (s *session) answer(c call) bool {
	handler := s.server.handlers[c.operation]
	s.streams, s.ended = handler != nil && handler.streams, false
	var err error
	if handler == nil {
		err = wirelab.Errorf(wirelab.Unimplemented, "no operation %d", c.operation)
	} else {
		err = s.invoke(handler, c)
	}
	if s.broken != nil {
		s.refuse(s.broken)
		return false
	}
	if err == nil {
		return true
	}
	if isLost(err) {
		return false
	}
	return s.link.send(appendFailure(s.link.frame(), err)) == nil
}

// invoke calls the handler. A panic in it is the call's failure with Internal;
// the stack goes to the process's log, since the caller must not see it.
func (s *session) invoke(handler *Handler, c call) (err error) {
	ctx := s.ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	defer func() {
		if p := recover(); p != nil {
			err = panics.Error(ctx, p)
		}
	}()
	s.link.inbox.watch()
	return handler.answer(ctx, s, c.payload)
}

// refuse tells the client why the connection ends, where it is there to be told.
func (s *session) refuse(err error) {
	var wrong malformed
	switch {
	case errors.Is(err, ErrTooLarge):
		err = wirelab.Errorf(wirelab.ResourceExhausted, "message of more than %d bytes", MessageLimit)
	case errors.As(err, &wrong):
		err = wirelab.Errorf(wirelab.InvalidArgument, "%v", err)
	default:
		return
	}
	_ = s.link.send(appendFailure(s.link.frame(), err)) // the connection ends anyway
}

// until does the work of a streaming call and ends the connection when ctx ends
// before it: the service may be waiting for a client that neither sends nor
// reads nor leaves. By then the client's own deadline, which was set before,
// has passed. What ends the call is sent after the work, and not at all on a
// connection that is being ended: a client that heard it would use that again.
func (s *session) until(ctx context.Context, work func() error) error {
	stop := context.AfterFunc(ctx, s.link.conn.Abort)
	defer stop() // for a panic in work
	err := work()
	// Both are asked: who waits for a context may hear of its end before the
	// function that waits for it is started.
	if !stop() || ctx.Err() != nil {
		return &lost{ctx.Err()}
	}
	return err
}

// end ends a stream that went well.
func (s *session) end() error { return s.link.send(append(s.link.frame(), byte(kindEnd))) }

// next returns the payload of the next request, or sets ended.
func (s *session) next(ctx context.Context) ([]byte, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	k, content, err := s.link.receive()
	s.link.inbox.watch()
	switch {
	case err == nil && k == kindItem:
		return content, nil
	case err == nil && k == kindEnd:
		s.ended = true
		return nil, nil
	case err == nil:
		err = malformedf("message of kind %d among requests", k)
	}
	s.broken = err
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, ctx.Err()
	case errors.Is(err, ErrTooLarge):
		return nil, wirelab.Errorf(wirelab.ResourceExhausted, "message of more than %d bytes", MessageLimit)
	case isLost(err):
		return nil, wirelab.Errorf(wirelab.Canceled, "the caller went away")
	}
	return nil, wirelab.Errorf(wirelab.InvalidArgument, "%v", err)
}
