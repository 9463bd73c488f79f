package raw

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
)

// line is one connection of a driver.
type line struct {
	channel
	socket
	client       client
	place        int   // among the driver's connections
	key, edition int32 // by which events name it
	flying       int   // calls on it
	served       bool  // a call has ended on it
	room         int   // calls that ended on it while others rested
	dirty        bool  // on the list of those with something to send
	full         bool  // the kernel takes no more: waited for
}

// lines is the driver. Everything but Traffic belongs to one goroutine.
type lines struct {
	*plan
	base    context.Context //nolint:containedctx // of connections opened again; never ends
	poll    *epoll
	buffers *buffers
	heads   heads
	traffic traffic

	calls   []call
	current []*line // by place; nil: broken
	table   []*line // by key, of every connection, also those that only end
	free    []int32 // keys
	edition int32   // of the events of a connection, to tell those of the key's last

	stamps  *stamps
	reading *line // whose bytes take reads
	take    func([]byte) (int, error)
	ended   int     // calls, by what was read last
	latest  *call   // of them
	fresh   []*call // begun, and not said yet when they were written

	dirty []*line
	over  []*call // ending: told by the next turn
	rest  []*call // resting, or no longer
	tell  func(int, error)
	told  bool // of an end, in this turn
	spare []*call
}

var _ wirelab.Lines = (*lines)(nil)

// openLines opens the connections of a plan.
func openLines(ctx context.Context, p *plan) (wirelab.Lines, error) {
	poll, err := newEpoll()
	if err != nil {
		return nil, wirelab.Errorf(wirelab.Internal, "epoll: %v", err)
	}
	l := &lines{
		plan: p, base: context.WithoutCancel(ctx), poll: poll, buffers: newBuffers(p.over.Secure), heads: heads{},
		calls: make([]call, p.slots), current: make([]*line, p.connections), stamps: newStamps(),
	}
	l.take = func(p []byte) (int, error) { return l.stamps.read(l.reading.socket, p) }
	for i := range l.calls {
		l.calls[i].slot = i
		// Apart, so that not all ask the same at once.
		l.calls[i].next = i * len(p.series) / p.slots
	}
	for place := range l.current {
		if err := l.open(ctx, place); err != nil {
			_ = l.Close() // err is the better one
			return nil, err
		}
	}
	return l, nil
}

// open makes the connection of a place.
func (l *lines) open(ctx context.Context, place int) error {
	sock, channel, err := l.dial(ctx, &l.traffic)
	if err != nil {
		return err
	}
	sock.stamp()
	n := &line{channel: *channel, socket: sock, place: place}
	n.client = l.newClient((l.slots+l.connections-1)/l.connections, l.heads, l.finish, l.again)
	n.end = n.client
	if h, ok := n.client.(*conn2); ok {
		if err := settle(ctx, sock, &n.channel, h); err != nil {
			sock.close()
			return broken(err)
		}
	}
	n.key = int32(len(l.table))
	if last := len(l.free) - 1; last >= 0 {
		n.key, l.free = l.free[last], l.free[:last]
	} else {
		l.table = append(l.table, nil)
	}
	l.edition++
	n.edition = l.edition
	if err := l.poll.watch(true, n.fd, unix.EPOLLIN, n.key, n.edition); err != nil {
		sock.close()
		l.free = append(l.free, n.key)
		return wirelab.Errorf(wirelab.Internal, "epoll: %v", err)
	}
	l.table[n.key], l.current[place] = n, n
	l.mark(n) // an acknowledgement may be waiting
	return nil
}

// Slots implements [wirelab.Lines].
func (l *lines) Slots() int { return len(l.calls) }

// Traffic implements [wirelab.Lines]. Any goroutine may ask.
func (l *lines) Traffic() wirelab.Traffic {
	t := &l.traffic
	return wirelab.Traffic{
		Sent: t.sent.Load(), Received: t.received.Load(), Opened: t.opened.Load(), Open: t.open.Load(),
		Payload: t.payload.Load(),
	}
}

// Begin implements [wirelab.Lines]. It panics if the slot carries a call:
// that is a mistake in the source.
func (l *lines) Begin(slot int) {
	c := &l.calls[slot]
	if c.state != idle {
		panic("raw: the slot carries a call") // as documented
	}
	x := l.series[c.next]
	if c.next++; c.next == len(l.series) {
		c.next = 0
	}
	c.exchange, c.tries = x, 0
	l.traffic.payload.Add(uint64(len(x.body)))
	l.launch(c)
}

// launch sends a call.
func (l *lines) launch(c *call) {
	place := c.slot % len(l.current)
	n := l.current[place]
	if n != nil && !n.served && n.flying == 0 && n.left() {
		l.drop(n) // the server had not the patience to wait for the first call
		n = nil
	}
	if n == nil || n.client.spent() {
		if err := l.reopen(place); err != nil {
			l.end(c, err)
			return
		}
		n = l.current[place]
	}
	c.answer.reset(c.exchange)
	c.state, c.on = flying, n
	if c.alone, c.written = n.flying == 0, 0; c.alone {
		l.fresh = append(l.fresh, c)
	}
	n.flying++
	n.client.begin(c)
	l.mark(n)
}

func (l *lines) reopen(place int) error {
	l.current[place] = nil // one that is spent closes with its last call
	ctx, cancel := context.WithTimeout(l.base, openTime)
	defer cancel()
	return l.open(ctx, place)
}

// mark has a connection's output sent in this turn or the next.
func (l *lines) mark(n *line) {
	if !n.dirty {
		n.dirty = true
		l.dirty = append(l.dirty, n)
	}
}

// end makes a call end in the next turn.
func (l *lines) end(c *call, cause error) {
	c.state, c.cause, c.on = ending, cause, nil
	l.over = append(l.over, c)
}

// finish tells the end of a call, which is the turn's to do.
func (l *lines) finish(c *call, err error) {
	n := c.on
	n.flying--
	n.served = true
	if len(l.rest) > 0 {
		n.room++
	}
	c.on, c.state = nil, idle
	c.outside, c.replied = 0, c.written
	l.ended++
	l.latest = c
	l.told = true
	l.tell(c.slot, err)
}

// Cancel implements [wirelab.Lines].
func (l *lines) Cancel(slot int, cause error) {
	c := &l.calls[slot]
	if c.state == resting {
		l.end(c, cause)
		return
	}
	if c.state != flying {
		return
	}
	n := c.on
	n.flying--
	useful := n.client.cancel(c)
	l.end(c, cause)
	if useful {
		l.mark(n)
	} else {
		l.drop(n)
	}
}

// Turn implements [wirelab.Lines].
func (l *lines) Turn(wait time.Duration, ended func(slot int, err error)) error {
	if l.poll == nil {
		return wirelab.Errorf(wirelab.Canceled, "the lines are closed")
	}
	l.tell, l.told = ended, false
	l.settleOver()
	l.resume()
	l.flush()
	l.wrote()
	if l.told || len(l.over) > 0 {
		wait = 0 // there is something for the caller to do
	}
	ready, err := l.poll.wait(wait)
	if err != nil {
		return wirelab.Errorf(wirelab.Internal, "epoll: %v", err)
	}
	for i := range ready {
		event := &l.poll.events[i]
		n := l.table[event.Fd]
		if n == nil || n.edition != event.Pad {
			continue // closed since, by what an event before it led to
		}
		l.serve(n, event.Events)
		if ready <= stampEach {
			l.wrote()
		}
	}
	l.resume()
	l.flush()
	l.wrote()
	return nil
}

// settleOver reports the calls that ended between turns. Those that end while
// it does so are the next turn's.
func (l *lines) settleOver() {
	if len(l.over) == 0 {
		return
	}
	l.told = true
	over := l.over
	l.over = l.spare[:0]
	for _, c := range over {
		cause := c.cause
		c.outside = 0
		c.state, c.cause = idle, nil
		l.tell(c.slot, cause)
	}
	l.spare = over
}

// serve does what an event asks for.
func (l *lines) serve(n *line, events uint32) {
	listed := n.dirty
	n.dirty = true // its output is sent below
	if events&^unix.EPOLLOUT != 0 {
		only := n.flying == 1
		l.reading, l.ended = n, 0
		err := n.pull(l.buffers, l.take)
		if err == nil && only && l.ended == 1 && len(n.rest) == 0 && n.client.last() && !n.client.spent() {
			l.latest.left(l.stamps.at)
		}
		if errors.Is(err, io.EOF) {
			n.client.closed()
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			l.lose(n, err)
			return
		}
	}
	n.dirty = listed
	l.push(n)
	if !n.dead && n.flying == 0 && n.client.spent() {
		l.drop(n)
	}
}

// flush sends what was begun. A server that resets each connection as it opens
// cannot hold a turn for ever: after a round for each call the rest is the
// next turn's.
func (l *lines) flush() {
	for budget := len(l.dirty) + len(l.calls); len(l.dirty) > 0 && budget > 0; budget-- {
		n := l.dirty[len(l.dirty)-1]
		l.dirty = l.dirty[:len(l.dirty)-1]
		n.dirty = false
		l.push(n)
	}
}

// push writes a connection's output, and waits for room where there is none.
func (l *lines) push(n *line) {
	if n.dead {
		return
	}
	all, err := n.push(n.write)
	if err != nil {
		l.lose(n, err)
		return
	}
	if all == !n.full {
		return
	}
	n.full = !all
	events := uint32(unix.EPOLLIN)
	if n.full {
		events |= unix.EPOLLOUT
	}
	if err := l.poll.watch(false, n.fd, events, n.key, n.edition); err != nil {
		l.lose(n, err)
	}
}

// lose drops a connection that failed and ends its calls.
func (l *lines) lose(n *line, cause error) {
	l.drop(n)
	for slot := n.place; slot < len(l.calls); slot += len(l.current) {
		c := &l.calls[slot]
		if c.on != n {
			continue
		}
		never, unanswered := n.client.untouched(c)
		if never || unanswered && n.served && len(n.rest) == 0 && endedByPeer(cause) {
			l.again(c, broken(cause), false)
		} else {
			l.finish(c, broken(cause))
		}
	}
}

// drop closes a connection.
func (l *lines) drop(n *line) {
	if n.dead {
		return
	}
	n.dead = true
	n.close() // which takes it out of epoll
	l.table[n.key] = nil
	l.free = append(l.free, n.key)
	if l.current[n.place] == n {
		l.current[n.place] = nil
	}
}

// Close implements [wirelab.Lines]. Calls in flight are not heard of again.
func (l *lines) Close() error {
	if l.poll == nil {
		return nil
	}
	for _, n := range l.table {
		if n != nil {
			l.drop(n)
		}
	}
	l.poll.close()
	l.poll = nil
	if l.tape != nil {
		l.tape.close()
	}
	return nil
}
