package client

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

var publishDesc = &grpc.StreamDesc{StreamName: "PublishStream", ServerStreams: true, ClientStreams: true}

// run keeps a stream while there is something to send, until the client closes.
func (w *writer) run() {
	ctx := w.c.ctx
	var p pause
	for {
		select {
		case <-w.work:
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		before := w.stored
		w.mu.Unlock()
		err := w.once(ctx)
		if ctx.Err() != nil {
			return
		}
		w.c.options.Logger.DebugContext(ctx, "publishing continues at another node", "error", err)
		w.mu.Lock()
		if w.stored != before { // else a node that takes and fails would be asked without a pause
			p.reset()
		}
		w.mu.Unlock()
		if !p.wait(ctx) {
			return
		}
		w.broke(err)
	}
}

// once opens a stream and uses it until it fails.
func (w *writer) once(life context.Context) error {
	var asked tried
	stream, address, err := w.c.open(life, publishDesc, pb.Hermes_PublishStream_FullMethodName, true, &asked)
	if err != nil {
		return asked.failed(err)
	}
	conn, err := w.c.nodes.conn(address)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.moving = false
	w.mu.Unlock()
	signal(w.work)
	w.c.spawn(func() { w.c.nodes.learn(life, conn) })
	ctx, cancel := context.WithCancelCause(life)
	received := make(chan struct{})
	go func() {
		defer close(received)
		cancel(w.receive(ctx, stream, address))
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.watch(ctx, address, cancel)
	}()
	// The sender may be held by the stream, which only its own end frees.
	unhook := context.AfterFunc(ctx, func() { closeStream(stream) })
	cancel(w.deliver(ctx, stream, conn))
	<-received
	<-watched
	unhook()
	closeStream(stream)
	return context.Cause(ctx)
}

// deliver sends what there is to send.
func (w *writer) deliver(ctx context.Context, stream grpc.ClientStream, conn *grpc.ClientConn) error {
	for {
		next, needs := w.pick()
		switch {
		case len(next) > 0: // what needs a producer waits for the next turn
			if err := stream.SendMsg(next); err != nil {
				if errors.Is(err, io.EOF) {
					return errStream // the receiver has the status
				}
				return wiregrpc.Decode(err)
			}
		case needs != nil:
			limited, cancel := context.WithTimeout(ctx, w.c.options.Patience)
			reply, err := pb.NewHermesClient(conn).OpenProducer(limited, &pb.OpenProducerRequest{})
			cancel()
			if err != nil {
				return wiregrpc.Decode(err)
			}
			w.produce(needs, reply.GetProducer())
		case w.moved():
			return errMoved
		default:
			select {
			case <-w.work:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

var (
	errStream = status.Errorf(status.Unavailable, "the node ended the stream")
	errMoved  = status.Errorf(status.Unavailable, "another node leads now")
)

// receive takes answers until the stream ends or one says that all is to be sent again.
func (w *writer) receive(ctx context.Context, stream grpc.ClientStream, address string) error {
	var verdicts frame.Verdicts
	var calls []func()
	for {
		var raw frame.Raw
		if err := stream.RecvMsg(&raw); err != nil {
			w.c.nodes.lost(address)
			if errors.Is(err, io.EOF) {
				return errStream
			}
			return wiregrpc.Decode(err)
		}
		var err error
		if verdicts, err = frame.ParseVerdicts(raw, verdicts[:0]); err != nil {
			return status.Errorf(status.Internal, "%v", err)
		}
		calls = calls[:0]
		for i := range verdicts {
			var failed error
			calls, failed = w.verdict(&verdicts[i], calls)
			if failed != nil && err == nil {
				err = failed
				w.c.nodes.lost(address)
			}
			if to := w.c.nodes.hinted(address, verdicts[i].Leader); to != "" && err == nil {
				w.c.spawn(func() { w.follow(ctx, to) })
			}
		}
		for _, call := range calls {
			call()
		}
		if err != nil {
			return err
		}
	}
}

// follow has publishing go on at the node that leads now, if it can be reached: nothing more is sent
// on the present stream, which ends when all that it owes is answered. The node that it goes to
// would hand everything on to the leader, which costs both a hop for as long as the stream lives.
func (w *writer) follow(ctx context.Context, to string) {
	if !w.c.nodes.reaches(ctx, to) || ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	w.moving = true
	w.mu.Unlock()
	signal(w.work)
}

// moved reports whether the stream is to be left and owes nothing.
func (w *writer) moved() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moving && len(w.sent) == 0
}

// watch ends a stream that owes answers, when the node gives no sign of life or when it has
// owed them for too long. What it has is sent again elsewhere, and stored once.
func (w *writer) watch(ctx context.Context, address string, end context.CancelCauseFunc) {
	patience := w.c.options.Patience
	w.c.nodes.guard(ctx, address, func(most time.Duration) bool {
		w.mu.Lock()
		owes, since := len(w.sent) > 0, time.Since(w.answered)
		w.mu.Unlock()
		if owes && since > patience {
			end(status.Errorf(status.Unavailable, "the node has not answered for %v", patience))
		}
		return owes && since > most
	}, end)
}
