package node

import (
	"context"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

// runOverhead is what a run takes of the admission in addition to its bytes, so that empty ones are bounded
// too.
const runOverhead = 128

var errStores = status.Errorf(status.Unavailable,
	"the leader can open no more files: nothing is stored until it can, or another leads; try again")

// refuses tells why nothing more is taken on to be stored; nil: it is.
func (n *Node) refuses() error {
	switch {
	case !n.declines.Load():
		return nil
	case n.disk.noFiles.Load():
		return errStores
	}
	return status.Errorf(status.ResourceExhausted,
		"the leader's disk has %d bytes free, nothing is stored below %d, its --free-bytes, and no other node has "+
			"room and "+
			"takes over: "+
			"free some, or shorten a retention",
		n.disk.free.Load(), n.options.FreeBytes)
}

// Publish implements [broker.Broker].
func (n *Node) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	b, err := n.leading(ctx)
	if err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	if run.Mode == hermes.Performance {
		run.Producer, run.Sequence = 0, 0 // they mean nothing there, and something to fan
	}
	b.Publish(ctx, run, done)
}

// Publish takes a run on the leader.
func (n local) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	if run.Mode == hermes.Performance && run.Producer != 0 && n.lead.Load().leader != n.options.Self.ID {
		done(n.pushed(run))
		return
	}
	t, err := n.admit(ctx, run)
	if err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	if run.Mode == hermes.Performance {
		term := n.lead.Load().term
		n.recent.Push(t.id, n.clock.stamp(), run.Messages, run.Count)
		n.fanout.push(run, term)
		done(broker.Verdict{Count: run.Count, Term: term})
		return
	}
	bytes := len(run.Messages) + runOverhead
	if err := n.admission.enter(ctx, n.stopped, bytes); err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	items := record.AppendRun(make([]byte, 0, len(run.Messages)+runOverhead/2), record.Run{
		Topic: t.id, Producer: run.Producer, Sequence: run.Sequence, Count: uint32(run.Count), Messages: run.Messages,
	})
	count := run.Count
	n.loop.propose(&proposal{
		items: items, count: 1, eventual: run.Mode == hermes.Eventual, bytes: bytes, ctx: ctx,
		answer: func(v replica.Verdict) { done(verdict(v, count)) },
	})
}

// verdict is a replica's, of a run, in the words of a broker.
func verdict(v replica.Verdict, count int) broker.Verdict {
	b := broker.Verdict{Count: count, Term: v.Term, Index: v.Index, Provisional: v.Provisional, Err: v.Err}
	if b.Err != nil || v.Provisional {
		return b
	}
	o := v.Outcomes[0]
	if o.Err != nil {
		b.Err = o.Err
		return b
	}
	b.Offset, b.Time, b.Duplicate = o.Offset, v.Time, o.Duplicate
	return b
}

// admit refuses what need not be in the log to be refused.
func (n local) admit(ctx context.Context, run broker.Run) (*topic, error) {
	switch {
	case run.Count <= 0 || len(run.Messages) == 0:
		return nil, status.Errorf(status.InvalidArgument, "a run has messages: this one has none")
	case run.Count > hermes.RunMessages || len(run.Messages) > hermes.RunLimit:
		return nil, status.Errorf(status.InvalidArgument,
			"a run of %d messages and %d bytes: at most %d and %d are allowed, so send several",
			run.Count, len(run.Messages), hermes.RunMessages, hermes.RunLimit)
	case run.Mode > hermes.Performance:
		return nil, status.Errorf(status.InvalidArgument, "mode %d is none", run.Mode)
	case run.Producer != 0 && run.Sequence == 0:
		return nil, status.Errorf(status.InvalidArgument, "sequences count from 1")
	}
	if err := n.leads(ctx); err != nil {
		return nil, err
	}
	if err := n.refuses(); err != nil && run.Mode != hermes.Performance {
		return nil, err
	}
	t, err := n.topics.find(run.Topic)
	if err == nil {
		return t, t.open()
	}
	if status.CodeOf(err) != status.NotFound {
		return t, err
	}
	// A new leader may not have applied yet what its predecessor acknowledged.
	if err := n.caughtUp(ctx); err != nil {
		return nil, err
	}
	if t, err = n.topics.find(run.Topic); err != nil {
		return nil, err
	}
	return t, t.open()
}

// OpenProducer implements [broker.Broker].
func (n *Node) OpenProducer(ctx context.Context) (uint64, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return 0, err
	}
	return b.OpenProducer(ctx)
}

// OpenProducer makes a producer on the leader.
func (n local) OpenProducer(ctx context.Context) (uint64, error) {
	if err := n.leads(ctx); err != nil {
		return 0, err
	}
	of := broker.OwnerOf(ctx)
	return propose(ctx, n.Node, commands(core.OpenProducer(core.Owner{Name: of.Name, Most: of.Producers})), 1,
		func(_ *core.Machine, o []core.Outcome) (uint64, error) {
			return o[0].Producer, nil
		})
}
