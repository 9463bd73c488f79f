package exchange

import (
	"context"
	"io"
	"iter"
	"sync"

	"wirelab/wire/stream"
)

// CallClientStream asks a stream of requests for one reply. It sends from the
// caller's goroutine and looks now and then whether the server has answered
// already. An error among the requests is the call's.
func (o Operation[Req, Rep]) CallClientStream(
	ctx context.Context, c *Client, requests iter.Seq2[Req, error],
) (rep Rep, err error) {
	a, err := c.begin(ctx)
	if err != nil {
		return rep, err
	}
	clean := false
	defer func() { a.finish(clean) }()
	if err := a.openBare(o.Number); err != nil {
		return rep, a.why(err)
	}
	a.link.inbox.watch()
	ended, err := sendRequests(a.link, o.Request, requests)
	if err != nil {
		return rep, a.why(err)
	}
	payload, clean, err := a.reply()
	clean = clean && ended
	if err != nil {
		return rep, err
	}
	return parseReply(o.Reply, payload)
}

// sendRequests sends requests and their end, up to the server's answer. ended
// is whether the end was sent. Of a connection that breaks it says nothing:
// the server may have told why before.
func sendRequests[Req any](l *link, codec Codec[Req], requests iter.Seq2[Req, error]) (ended bool, err error) {
	for req, err := range requests {
		if err != nil {
			return false, err
		}
		if l.inbox.arrived() {
			break
		}
		if err := send(l, kindItem, codec, req); isLost(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return l.send(append(l.frame(), byte(kindEnd))) == nil, nil
}

// openBare sends a call whose requests follow.
func (a *asking) openBare(operation byte) error {
	return a.link.send(appendCall(a.link.frame(), operation, remaining(a.ctx)))
}

// CallBidiStream asks a stream of requests for a stream; see [stream.Converse]
// for what an early stop waits for, and [Operation.CallServerStream] for calls
// made from within it.
func (o Operation[Req, Rep]) CallBidiStream(
	ctx context.Context, c *Client, requests iter.Seq2[Req, error],
) iter.Seq2[Rep, error] {
	return stream.Converse(ctx, requests, func(ctx context.Context) (stream.Duplex[Req, Rep], error) {
		a, err := c.begin(ctx)
		if err != nil {
			return stream.Duplex[Req, Rep]{}, err
		}
		if err := a.openBare(o.Number); err != nil {
			a.finish(false)
			return stream.Duplex[Req, Rep]{}, a.why(err)
		}
		d := &duplex{asking: a}
		return stream.Duplex[Req, Rep]{
			Send: func(req Req) error { return d.sent(send(a.link, kindItem, o.Request, req)) },
			CloseSend: func() error {
				d.mu.Lock()
				d.ending = true
				d.mu.Unlock()
				err := a.link.send(append(a.link.frame(), byte(kindEnd)))
				d.mu.Lock()
				d.ended = err == nil
				d.mu.Unlock()
				return err
			},
			Receive: func() (Rep, error) {
				rep, end, clean, err := item(a, o.Reply)
				if err == nil && !end {
					return rep, nil
				}
				return rep, d.over(clean, err)
			},
			Close:     d.close,
			Translate: func(err error) error { return err }, // Receive has done it
		}, nil
	})
}

// duplex is a call with streams both ways, seen by both its goroutines.
type duplex struct {
	asking *asking

	mu     sync.Mutex // guards all below
	ending bool       // the end is being sent
	ended  bool       // the end was sent
	clean  bool       // the server's side is over in good order
	err    error      // why the client broke the call off
}

// sent takes the result of sending a request. What the connection is not to
// blame for ends the call, and Receive tells it.
func (d *duplex) sent(err error) error {
	if err != nil && !isLost(err) {
		d.mu.Lock()
		d.err = err
		d.mu.Unlock()
		d.asking.link.conn.Abort()
	}
	return err
}

// over takes the end of the replies, and returns what Receive is to return. A
// server that ended the call while requests may still be on their way leaves
// the sender stuck in a write, perhaps: its connection is not worth waiting for.
func (d *duplex) over(clean bool, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clean = clean && d.ending
	if d.clean {
		d.asking.settle() // the context ends next, since the call is over
	} else {
		d.asking.link.conn.Abort()
	}
	switch {
	case d.err != nil:
		return d.err
	case err != nil:
		return err
	}
	return io.EOF
}

// close gives the connection back, when neither goroutine uses it any more.
func (d *duplex) close() {
	d.mu.Lock()
	clean := d.clean && d.ended
	d.mu.Unlock()
	d.asking.finish(clean)
}
