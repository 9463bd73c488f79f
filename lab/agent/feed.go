package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// prepareFeeds opens the clients of a load that holds streams. It distributes the streams over connections as
// [prepareClients] does with workers.
func prepareFeeds(ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, _ control.Dial, l control.Load,
	_ *rand.Rand,
) (*prepared, error) {
	sockets := &probe.Sockets{}
	p := &prepared{width: l.Streams, Meter: Meter{Traffic: sockets.Count}}
	clients, err := p.dialClients(ctx, cell, to, sockets, l.Connections)
	if err != nil {
		return p, err
	}
	feeds := make([]load.Feed, l.Streams)
	for i := range feeds {
		feed, err := clients[i%len(clients)].Feed(l.Operation, l.Rate)
		if err != nil {
			return p, err
		}
		feeds[i] = func(ctx context.Context, each func(load.Stamp, error) bool) error {
			return feed(ctx, func(s wirelab.Stamp, wrong error) bool { return each(load.Stamp(s), wrong) })
		}
	}
	held := &feedLoad{
		runner: load.NewFeedRunner(feeds), all: float64(l.Rate) * float64(l.Streams),
		plan: load.FeedPlan{
			Rate: l.Rate, Share: l.Reader, Wrong: result.WrongReply, Classify: classify, Cause: Cause, Tell: fault.Text,
		},
	}
	for _, client := range clients {
		feed, err := client.Feed(l.Operation, 0)
		if err != nil {
			return p, err
		}
		held.golden = append(held.golden, feed)
	}
	p.do = held
	return p, nil
}

// feedLoad is the part of a load that holds streams instead of making calls.
type feedLoad struct {
	runner *load.FeedRunner
	plan   load.FeedPlan
	all    float64 // events per second of all its streams
	// golden are feeds without a rate, one of each client.
	golden []func(ctx context.Context, each func(wirelab.Stamp, error) bool) error
}

// check reads the first events of a stream of each client.
func (f *feedLoad) check(ctx context.Context, p *prepared) error {
	for i, feed := range f.golden {
		events := 0
		ctx, cancel := context.WithTimeout(ctx, max(p.Plan.Deadline, time.Second))
		var wrong error
		err := feed(ctx, func(_ wirelab.Stamp, err error) bool {
			events++
			wrong = err
			return err == nil && events < goldenCalls
		})
		cancel()
		switch {
		case wrong != nil:
			return first(events-1, "event", wrong)
		case err != nil:
			return first(i, "stream", err)
		case events == 0:
			return fmt.Errorf("stream %d of the first has no event", i+1)
		}
	}
	return nil
}

// within is the plan of a run, with what a deadline of calls means for streams:
// how long they may take to open, and twice that for events that are late.
func (f *feedLoad) within(deadline, length, head time.Duration) load.FeedPlan {
	p := f.plan
	p.Opening, p.Drain = deadline, 2*deadline
	p.Duration, p.Head = length, head
	return p
}

// warm warms streams up in windows. Each window opens new streams.
func (f *feedLoad) warm(ctx context.Context, p *prepared, order control.Warm, served Served) (*load.Warmth, error) {
	run := f.within(p.Plan.Deadline, max(time.Duration(order.Least)/warmWindows, fewCalls(f.all)), 0)
	run.Share = 0 // a slow reader's server is warmed up by a fast one: nothing of it is timed
	return f.runner.Warm(ctx, load.Warming{Windows: warmWindows, Limit: time.Duration(order.Limit), Served: served}, run)
}

// slice runs one measured slice. It opens new streams.
func (f *feedLoad) slice(ctx context.Context, p *prepared, order control.Slice) (*control.Measured, error) {
	run := f.within(p.Plan.Deadline, time.Duration(order.For), time.Duration(order.Head))
	measured := &control.Measured{}
	var probed error
	run.Around = func(run func()) { probed = p.around(measured, run) }
	rec, err := f.runner.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	measured.Recording, measured.Calls = rec.Recording, rec.Streams.Read
	measured.Streams = streamsOf(rec.Streams, run.Share > 0)
	return measured, probed
}

// streamsOf puts what the engine says of streams into the form that is stored.
func streamsOf(s load.Streams, slow bool) *result.Streams {
	all := &result.Streams{
		Jitter: s.Jitter, Missing: s.Missing, Duplicated: s.Duplicated, Reordered: s.Reordered,
		Stray: s.Stray, Slipped: s.Slipped, Opening: plan.Duration(s.Opening),
	}
	if slow {
		all.Ends = 1
		all.Behind = result.Behind{Due: s.Due, Sent: s.Sent, Decoded: s.Decoded, Dropped: s.Dropped}
	}
	for _, r := range s.Readers {
		client := result.Client{
			Planned: r.Planned, Right: r.Right, Wrong: r.Wrong, Completed: r.Completed,
			Missing: r.Missing, Duplicated: r.Duplicated, Reordered: r.Reordered,
			Behind: result.Behind{Due: r.Due, Sent: r.Sent, Decoded: r.Decoded, Dropped: r.Dropped},
		}
		if len(s.Readers) <= result.ClientTimes {
			client.Delivery, client.Jitter = r.Delivery, r.Jitter
		}
		all.Clients = append(all.Clients, client)
	}
	return all
}
