package agent

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/probe"
)

// prepared is a load with its connections, of any driver.
type prepared struct {
	Meter // without a Runner if the load holds streams
	open  []io.Closer
	width int           // calls in flight
	pace  time.Duration // how long one of the first calls took
	tls   *met          // the TLS versions that connections negotiated
	// reached has the addresses of a target. It is empty for a server that was started for this run.
	reached *met
	// do is what the driver does under the load: calls, unless its kind is another.
	do drives
	// call makes one call in a slot below width, outside any run.
	call func(ctx context.Context, slot int) error
	// made returns how many calls began since the load was prepared. It is nil if the load holds streams.
	made func() uint64
	// follow and watch are nil unless submitted entries are followed. All loads of a dial order share one follower,
	// since they share the journals.
	follow *follower
	watch  func(load.Ended)
	steps  *stepped // nil unless calls are chains
}

// calls counts the calls of one worker, also those that are not recorded: the totals of the servers include them too.
// It fills a cache line, so that workers do not share one.
type calls struct {
	n uint64
	_ [56]byte
}

// prepareClients opens the clients of a load. On a multiplexed protocol each client is one connection and the workers
// are distributed over the clients. On other protocols one client keeps a pool. f is nil, or follows the submitted
// entries.
func prepareClients(ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, order control.Dial, l control.Load,
	seeds *rand.Rand, f *follower,
) (*prepared, error) {
	sockets := &probe.Sockets{}
	counts := make([]calls, l.InFlight)
	p := &prepared{do: callLoad{}, width: l.InFlight, Meter: Meter{Traffic: sockets.Count}, made: func() (n uint64) {
		for i := range counts {
			n += counts[i].n
		}
		return n
	}}
	dialled, err := p.dialClients(ctx, cell, to, sockets, l.Connections)
	if err != nil {
		return p, err
	}
	once := uint64(0)
	if slices.Contains(cell.Fresh, l.Operation) {
		once = order.Once
	}
	open := func(client wirelab.Client, seed uint64) (load.Call, error) {
		return client.Caller(l.Operation, l.Requests, seed)
	}
	first := 0 // index of this load's first caller among the follower's
	if f != nil {
		p.follow, first = f, len(f.last)
		p.watch = func(e load.Ended) { f.watch(first, e) }
		open = func(client wirelab.Client, seed uint64) (load.Call, error) {
			return f.follow(client, l.Operation, l.Requests, seed)
		}
	}
	if f == nil {
		p.steps = newStepped(dialled, l.Operation, l.InFlight)
	}
	if p.steps != nil {
		p.watch = p.steps.watch
	}
	callers := make([]load.Call, l.InFlight)
	for i := range callers {
		open := open
		if p.steps != nil {
			open = func(client wirelab.Client, seed uint64) (load.Call, error) {
				return p.steps.open(i, client, l.Operation, l.Requests, seed)
			}
		}
		call, err := open(dialled[i%len(dialled)], seeds.Uint64()^once)
		if err != nil {
			return p, err
		}
		count := &counts[i]
		callers[i] = func(ctx context.Context) error {
			count.n++
			return call(ctx)
		}
	}
	p.call = func(ctx context.Context, slot int) error {
		err := callers[slot](ctx)
		if p.follow != nil {
			p.follow.outside(first+slot, err)
		}
		return err
	}
	p.Runner = load.NewRunner(callers)
	return p, nil
}

// dialClients opens the clients that a load of p's width needs over a number of connections.
func (p *prepared) dialClients(
	ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, sockets *probe.Sockets, connections int,
) ([]wirelab.Client, error) {
	clients := 1
	to.Connections = connections
	if cell.Protocol.Multiplexed {
		clients, to.Connections = min(max(connections, 1), p.width), 1
	}
	var dialled []wirelab.Client
	for range clients {
		client, err := cell.Dial(ctx, sockets.Watch(to))
		if err != nil {
			return nil, err
		}
		dialled, p.open = append(dialled, client), append(p.open, client)
	}
	return dialled, nil
}

// prepareRaw opens the raw connections of a load.
func prepareRaw(ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, order control.Dial, l control.Load,
	seeds *rand.Rand,
) (*prepared, error) {
	if why, hole := cell.RawHoles[l.Operation]; hole {
		return nil, wirelab.Errorf(wirelab.Unimplemented, "the raw driver does not carry %s: %s", l.Operation, why)
	}
	if cell.DialRaw == nil {
		return nil, wirelab.Errorf(wirelab.Unimplemented, "there is no raw driver for %s", cell.Protocol.Name)
	}
	to.Connections, to.Deadline = min(l.Connections, l.InFlight), time.Duration(order.Deadline)
	lines, err := cell.DialRaw(ctx, to, l.InFlight, l.Operation, l.Requests, seeds.Uint64())
	if err != nil {
		return nil, err
	}
	counted := &countedLines{Lines: lines}
	return &prepared{
		do:    callLoad{},
		Meter: Meter{Runner: load.NewLinesRunner(counted), Traffic: lines.Traffic},
		open:  []io.Closer{lines},
		width: l.InFlight,
		call:  counted.call,
		made:  func() uint64 { return counted.begun },
	}, nil
}

// countedLines counts the calls that began.
type countedLines struct {
	wirelab.Lines
	begun uint64
}

func (l *countedLines) Begin(slot int) {
	l.begun++
	l.Lines.Begin(slot)
}

// call makes one call while no other is in flight. After ctx is done it cancels the call once, and still waits until
// the connection reports its end: the slot is in use until then.
func (l *countedLines) call(ctx context.Context, slot int) error {
	over := false
	var answer error
	l.Begin(slot)
	for given := false; !over; {
		if ctx.Err() != nil && !given {
			l.Cancel(slot, context.Cause(ctx))
			given = true
		}
		err := l.Turn(10*time.Millisecond, func(_ int, err error) { over, answer = true, err })
		if err != nil {
			return err
		}
	}
	return answer
}
