package grpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"wirelab/hermes/broker"
	"wirelab/hermes/frame"
	"wirelab/wire/status"
)

// StreamRuns and StreamBytes bound what one PublishStream has unanswered.
const (
	StreamRuns  = 1024
	StreamBytes = 16 << 20
)

// publishing is one PublishStream: a goroutine that reads runs, the broker that answers
// them from any goroutine, and the handler that sends the answers.
type publishing struct {
	d    *api
	call grpc.ServerStream
	told string // who leads, as send said last

	mu    sync.Mutex // guards all below
	runs  int        // read and not answered, or the answer is not sent yet
	bytes int        // of the frames of those not answered
	ready frame.Verdicts

	wake  chan struct{} // 1: ready is not empty, or runs fell to 0
	freed chan struct{} // 1: runs or bytes fell
}

// held is a frame, whole in memory until the last of its runs is answered: their messages
// are parts of it.
type held struct {
	bytes int
	runs  int // not answered yet; under the mutex of its publishing
}

func (d *api) publishStream(call grpc.ServerStream) error {
	p := &publishing{d: d, call: call, wake: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(call.Context())
	defer cancel()
	ended := make(chan error, 1) // bounded by the one send
	d.readers.Go(func() { ended <- p.read(ctx) })
	return p.answer(ctx, ended)
}

// answer sends verdicts until the reader has ended, or the server stops, and all that
// was read is answered.
func (p *publishing) answer(ctx context.Context, ended <-chan error) error {
	var end error // set: nothing more is waited for than what was read
	stop := p.d.stop.Done()
	for {
		select {
		case <-p.wake:
			if err := p.send(); err != nil {
				return err
			}
		case end = <-ended:
			ended = nil
		case <-stop:
			if stop = nil; end == nil {
				end = errStopping
			}
		case <-ctx.Done():
			return status.Public(ctx.Err())
		}
		if end != nil && p.idle() {
			if errors.Is(end, io.EOF) {
				return nil
			}
			return end
		}
	}
}

// idle reports whether all that was read is answered and sent.
func (p *publishing) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs == 0
}

// send sends all answers there are, as one frame.
func (p *publishing) send() error {
	p.mu.Lock()
	ready := p.ready
	p.ready = nil
	p.mu.Unlock()
	if len(ready) == 0 {
		return nil
	}
	// The header said so once, but a stream may outlive many leaders.
	if at := p.d.hint(); at != p.told {
		if p.told = at; at != "" {
			ready[0].Leader = at
		}
	}
	if err := p.call.SendMsg(ready); err != nil {
		return received(err)
	}
	p.mu.Lock()
	p.runs -= len(ready)
	p.mu.Unlock()
	signal(p.freed)
	return nil
}

// read publishes what comes. It ends with io.EOF, or with the fault.
func (p *publishing) read(ctx context.Context) error {
	var runs frame.Runs
	for {
		var request frame.Raw
		err := p.call.RecvMsg(&request)
		if err != nil {
			return received(err)
		}
		if runs, err = frame.ParseRuns(request, StreamRuns, runs[:0]); err != nil {
			return err
		}
		if len(runs) == 0 {
			continue // nothing of it is kept
		}
		of := &held{bytes: len(request), runs: len(runs)}
		if err := p.room(ctx, of); err != nil {
			return err
		}
		for i := range runs {
			p.publish(ctx, &runs[i], of)
		}
	}
}

// publish hands a run of a frame to the broker.
func (p *publishing) publish(ctx context.Context, r *frame.Run, of *held) {
	tag := r.Tag
	done := func(v broker.Verdict) { p.done(p.d.verdict(tag, v), of) }
	run, err := checked(r)
	if err == nil && p.d.stop.Err() != nil {
		err = errStopping
	}
	if err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	p.d.broker.Publish(ctx, run, done)
}

// room waits until another frame may be in hand. One always may.
func (p *publishing) room(ctx context.Context, f *held) error {
	runs, bytes := f.runs, f.bytes
	if err := p.d.intake.Wait(ctx.Done(), bytes); err != nil {
		return err
	}
	for {
		p.mu.Lock()
		if p.runs == 0 || p.runs+runs <= StreamRuns && p.bytes+bytes <= StreamBytes {
			p.runs += runs
			p.bytes += bytes
			p.mu.Unlock()
			return nil
		}
		p.mu.Unlock()
		select {
		case <-p.freed:
		case <-ctx.Done():
			p.d.intake.Give(bytes)
			return status.Public(ctx.Err())
		}
	}
}

// done takes an answer, from any goroutine, also after the stream has ended.
func (p *publishing) done(v frame.Verdict, of *held) {
	p.mu.Lock()
	p.ready = append(p.ready, v)
	last := of.runs == 1
	if of.runs--; last {
		p.bytes -= of.bytes
	}
	p.mu.Unlock()
	if last {
		p.d.intake.Give(of.bytes)
	}
	signal(p.wake)
	signal(p.freed)
}

// signal wakes any waiter on a channel that holds one signal; one that is there is enough.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
