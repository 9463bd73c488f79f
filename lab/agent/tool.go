package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/metric"
	"wirelab/lab/tool"
)

// toolLoad is a load that another program makes. Each slice runs a new process, so that its start is part of its cost.
type toolLoad struct {
	tool tool.Tool
	run  *tool.Run
	load tool.Load
	self *probe.Account
	pace time.Duration // of the first calls of wirelab's own client
	// direct is set if the tool runs statements on the database itself, without a server.
	direct bool
}

// dialTool prepares loads that a tool makes. Our own client makes the first calls: they show that the cell answers
// correctly, and they show the tool what to send.
func dialTool(
	ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, order control.Dial, self *probe.Account,
) (loads []Load, err error) {
	by, err := tool.Named(order.Tool)
	if err != nil {
		return nil, err
	}
	program, err := by.Find()
	if err != nil {
		return nil, err
	}
	seeds := rand.New(rand.NewPCG(order.Seed, 0x6472697665)) // as in dialCell
	prepare := prepareTool
	if cell.Script != nil {
		prepare = prepareScript
	}
	for i, l := range order.Loads {
		one, err := prepare(ctx, cell, to, order, l, seeds)
		if err != nil {
			return loads, underLoad(i, len(order.Loads), err)
		}
		one.load.Rate = rateOf(l)
		one.load = by.Fit(one.request, one.load)
		one.tool, one.self = by, self
		if why := by.Refuses(one.request, one.load); why != "" {
			return loads, wirelab.Errorf(wirelab.Unimplemented,
				"%s cannot drive %s over %s: %s", by.Name, l.Operation, cell.Protocol.Name, why)
		}
		run, err := by.Prepare(program, one.request)
		if err != nil {
			return loads, err
		}
		one.run = run
		loads = append(loads, &one.toolLoad)
	}
	return loads, nil
}

// shown is a load with the request that a client sent.
type shown struct {
	toolLoad
	request tool.Request
}

// prepareTool makes calls with our own client and takes the request of the first.
func prepareTool(
	ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, order control.Dial, l control.Load, seeds *rand.Rand,
) (*shown, error) {
	seen, pace, err := watch(ctx, cell, to, order, l, seeds, 1)
	if err != nil {
		return nil, err
	}
	if len(seen) == 0 {
		return nil, wirelab.Errorf(wirelab.Unimplemented,
			"%s cannot drive %s: it is not HTTP without TLS", order.Tool, cell.Protocol.Name)
	}
	return &shown{
		toolLoad: toolLoad{
			load: tool.Load{InFlight: l.InFlight, Connections: l.Connections, Threads: runtime.NumCPU()}, pace: pace,
		},
		request: seen[0],
	}, nil
}

// watch makes calls with our own client, checks the replies, and returns the first requests that the client sent.
func watch(
	ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, order control.Dial, l control.Load, seeds *rand.Rand,
	most int,
) (seen []tool.Request, pace time.Duration, err error) {
	between, err := tool.Watch(order.Address, most)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, between.Close()) }()
	to.Address, to.Next = between.Address(), nil
	single := l
	single.InFlight, single.Connections = 1, 1
	p, err := prepareClients(ctx, cell, to, order, single, seeds, nil)
	if p != nil {
		defer func() { err = errors.Join(err, closeAll(p.open)) }()
	}
	if err != nil {
		return nil, 0, err
	}
	p.Plan.Deadline = time.Duration(order.Deadline)
	if err := p.do.check(ctx, p); err != nil {
		return nil, 0, err
	}
	for range most - goldenCalls { // a chain may have sent several in each
		if err := p.call(ctx, 0); err != nil {
			return nil, 0, err
		}
	}
	return between.Requests(), p.pace, nil
}

// prepareScript prepares the statements of an operation, and the tables that they use.
func prepareScript(
	ctx context.Context, cell wirelab.Cell, _ wirelab.Dialing, _ control.Dial, l control.Load, _ *rand.Rand,
) (*shown, error) {
	script, err := cell.Script(l.Operation, l.Requests)
	if err != nil {
		return nil, err
	}
	_, database, err := cell.Over(ctx, cell.Database)
	if err != nil {
		return nil, err
	}
	return &shown{
		toolLoad: toolLoad{
			load: tool.Load{InFlight: l.InFlight, Connections: l.Connections, Threads: runtime.NumCPU()}, direct: true,
		},
		request: tool.Request{Script: script.Text, SearchPath: script.Schema, Database: cell.Database.Source},
	}, database.Close()
}

// rateOf returns the rate of a load; 0 for a closed loop.
func rateOf(l control.Load) float64 {
	if l.Schedule == nil {
		return 0
	}
	return l.Schedule.Stages[0].From // a plan with tools has one stage, with one rate
}

// Pace implements [Pacer].
func (t *toolLoad) Pace() time.Duration { return t.pace }

// Close implements [Load].
func (t *toolLoad) Close() error { return t.run.Close() }

// Warm implements [Load]. A tool reports one figure for each run, which cannot show whether the load was steady.
func (t *toolLoad) Warm(ctx context.Context, order control.Warm, _ Served) (*load.Warmth, error) {
	began := time.Now()
	told, err := t.do(ctx, time.Duration(order.Least))
	if err != nil {
		return nil, err
	}
	rate := float64(told.Right) / told.Elapsed.Seconds()
	return &load.Warmth{Windows: 1, Took: time.Since(began), Throughput: []float64{rate}}, nil
}

// Slice implements [Load].
func (t *toolLoad) Slice(ctx context.Context, order control.Slice) (*control.Measured, error) {
	var told tool.Told
	var ran error
	own, err := t.self.Over(func() { told, ran = t.do(ctx, time.Duration(order.For)) })
	if err = errors.Join(ran, err); err != nil {
		return nil, err
	}
	r := load.NewRecording()
	r.Began, r.Window, r.Workers = time.Now().Add(-told.Elapsed), told.Elapsed, t.load.InFlight
	r.OK, r.CompletedInWindow, r.Sent = told.Right, told.Right, told.Right+told.Wrong
	if t.load.Rate > 0 {
		r.Planned = r.Sent // a tool does not report calls that it left out; its rate is checked against the plan
	}
	if told.Wrong > 0 {
		r.Errors = map[string]uint64{metric.ToldWrong: told.Wrong}
	}
	used := told.Usage
	used.Wall, used.Others = own.Wall, own.Others-used.CPU // the tool's CPU time is the driver's, and not that of others
	by := &result.Told{Tool: t.tool.Name, Direct: t.direct}
	return &control.Measured{Recording: r, Usage: used, Calls: r.Sent, Particulars: result.Particulars{Told: by}}, nil
}

func (t *toolLoad) do(ctx context.Context, least time.Duration) (tool.Told, error) {
	l := t.load
	l.For = t.tool.Rounded(least)
	return t.run.Do(ctx, l)
}

var _ Load = (*toolLoad)(nil)
