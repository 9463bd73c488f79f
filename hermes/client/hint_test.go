package client_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/client"
)

// pair is two nodes over one broker, of which the first says that the other one leads.
type pair struct {
	memory            *brokertest.InMemory
	first             string       // its address, which the client is given
	atFirst, atLeader atomic.Int64 // runs
}

// newPair makes them. From when leads is true on the first one names the leader: by an address
// that means nothing, unless it is reachable.
func newPair(t *testing.T, reachable bool, leads *atomic.Bool) *pair {
	t.Helper()
	p := &pair{memory: memory(t)}
	counted := func(n *atomic.Int64) func(context.Context, broker.Run, func(broker.Verdict)) {
		return func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
			n.Add(1)
			p.memory.Publish(ctx, run, done)
		}
	}
	other := serve(t, &faulty{Broker: p.memory, publish: counted(&p.atLeader)}, api.Options{}).address
	if !reachable {
		other = "127.0.0.1:1"
	}
	p.first = serve(t, &faulty{
		Broker: p.memory, publish: counted(&p.atFirst),
		leader: func() (broker.Member, bool) { return broker.Member{ID: 77, GRPC: other}, leads.Load() },
	}, api.Options{}).address
	return p
}

// The client goes to the leader that a node names; where that address means nothing to it,
// it stays. (hb-M25)
func TestLeaderHint(t *testing.T) {
	t.Parallel()
	for _, reachable := range []bool{true, false} {
		var leads atomic.Bool
		leads.Store(true)
		p := newPair(t, reachable, &leads)
		c := connect(t, client.Options{Addresses: []string{p.first}})
		if failed := numbers(t, c, 10); len(failed) > 0 {
			t.Error(failed)
		}
		if reachable && p.atFirst.Load() > 0 || !reachable && p.atLeader.Load() > 0 {
			t.Errorf("reachable %v: %d runs at the leader, %d at the other", reachable, p.atLeader.Load(),
				p.atFirst.Load())
		}
	}
}

// A stream that was opened while no node led is left for the leader's once another node leads, and nothing is
// lost, doubled or refused by that; where the leader's address means nothing, it is kept.
func TestLeaderHintOnAStream(t *testing.T) {
	t.Parallel()
	for _, reachable := range []bool{true, false} {
		var leads atomic.Bool
		p := newPair(t, reachable, &leads)
		c := connect(t, client.Options{Addresses: []string{p.first}, RunMessages: 3})
		ctx := patient(t)
		sent := 0
		send := func() {
			for range 10 {
				payload := strconv.AppendInt(nil, int64(sent), 10)
				if err := c.Send(ctx, "t", hermes.Consistent, &hermes.Message{Payload: payload},
					func(_ client.Receipt, err error) {
						if err != nil {
							t.Error(err)
						}
					}); err != nil {
					t.Fatal(err)
				}
				sent++
			}
			if err := c.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		send()
		leads.Store(true)
		before := p.atFirst.Load()
		for sent < 100 || reachable && p.atLeader.Load() == 0 {
			send()
		}
		if after := p.atFirst.Load(); !reachable && (p.atLeader.Load() > 0 || after == before) {
			t.Errorf("%d runs at the leader, %d at the other", p.atLeader.Load(), after)
		}
		wantStored(t, p.memory, sequence(sent))
	}
}
