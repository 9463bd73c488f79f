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

// toolLoad is a load that another program makes: a process for each slice, so that its start is part of what it costs.
type toolLoad struct {
	tool tool.Tool
	run  *tool.Run
	load tool.Load
	self *probe.Account
	pace time.Duration // of our own client's first calls
	// direct is that it runs statements, without a server.
	direct bool
}

// dialTool prepares loads that a tool makes. Our own client makes the first calls, so that a cell that answers wrongly
// is not measured, and shows the tool what to send.
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

// shown is a load with the request that a client showed.
type shown struct {
	toolLoad
	request tool.Request
}

// prepareTool has our own client make calls, and looks at the first.
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

// watch has our own client make calls, whose replies are checked, and returns the first requests that it sends.
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
	if err := p.golden(ctx); err != nil {
		return nil, 0, err
	}
	for range most - goldenCalls { // a chain may have sent several in each
		if err := p.call(ctx, 0); err != nil {
			return nil, 0, err
		}
	}
	return between.Requests(), p.pace, nil
}

// prepareScript has the statements of an operation ready, and the tables that they are of.
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

// rateOf is the rate of a load; 0 of a closed loop.
func rateOf(l control.Load) float64 {
	if l.Schedule == nil {
		return 0
	}
	return l.Schedule.Stages[0].From // a plan with tools has one, of one rate
}

// Pace implements [Pacer].
func (t *toolLoad) Pace() time.Duration { return t.pace }

// Close implements [Load].
func (t *toolLoad) Close() error { return t.run.Close() }

// Warm implements [Load]. A tool tells one figure of each run, by which nobody could judge whether it was steady.
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
		r.Planned = r.Sent // what else was due a tool does not say; the rate is held to the plan's
	}
	if told.Wrong > 0 {
		r.Errors = map[string]uint64{metric.ToldWrong: told.Wrong}
	}
	used := told.Usage
	used.Wall, used.Others = own.Wall, own.Others-used.CPU // what the tool used is no stranger's
	by := &result.Told{Tool: t.tool.Name, Direct: t.direct}
	return &control.Measured{Recording: r, Usage: used, Calls: r.Sent, Particulars: result.Particulars{Told: by}}, nil
}

func (t *toolLoad) do(ctx context.Context, least time.Duration) (tool.Told, error) {
	l := t.load
	l.For = t.tool.Rounded(least)
	return t.run.Do(ctx, l)
}

var _ Load = (*toolLoad)(nil)
