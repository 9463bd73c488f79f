package client_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	door "wirelab/hermes/door/grpc"
)

// The client goes to the leader that a node names; where that address means nothing to it,
// it stays. (hb-M25)
func TestLeaderHint(t *testing.T) {
	t.Parallel()
	for _, reachable := range []bool{true, false} {
		m := memory(t)
		var atLeader, atFollower atomic.Int64
		counted := func(n *atomic.Int64) func(context.Context, broker.Run, func(broker.Verdict)) {
			return func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
				n.Add(1)
				m.Publish(ctx, run, done)
			}
		}
		leader := serve(t, &faulty{Broker: m, publish: counted(&atLeader)}, door.Options{})
		hint := leader.address
		if !reachable {
			hint = "127.0.0.1:1"
		}
		follower := serve(t, &faulty{
			Broker: m, publish: counted(&atFollower),
			leader: func() (broker.Member, bool) { return broker.Member{ID: 77, GRPC: hint}, true },
		}, door.Options{})
		c := connect(t, client.Options{Addresses: []string{follower.address}})
		if failed := numbers(t, c, 10); len(failed) > 0 {
			t.Error(failed)
		}
		if reachable && atFollower.Load() > 0 || !reachable && atLeader.Load() > 0 {
			t.Errorf("reachable %v: %d runs at the leader, %d at the follower", reachable, atLeader.Load(), atFollower.Load())
		}
	}
}

// A stream that was opened while this node led, or nobody did, is left for the leader's once another node
// leads, and nothing is lost, doubled or refused by that; where the leader's address means nothing, it is kept.
func TestLeaderHintOnAStream(t *testing.T) {
	t.Parallel()
	for _, reachable := range []bool{true, false} {
		m := memory(t)
		var leads atomic.Bool // the other node
		var atLeader, atFollower atomic.Int64
		counted := func(n *atomic.Int64) func(context.Context, broker.Run, func(broker.Verdict)) {
			return func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
				n.Add(1)
				m.Publish(ctx, run, done)
			}
		}
		other := serve(t, &faulty{Broker: m, publish: counted(&atLeader)}, door.Options{}).address
		if !reachable {
			other = "127.0.0.1:1"
		}
		first := serve(t, &faulty{
			Broker: m, publish: counted(&atFollower),
			leader: func() (broker.Member, bool) {
				if !leads.Load() {
					return broker.Member{}, false
				}
				return broker.Member{ID: 77, GRPC: other}, true
			},
		}, door.Options{}).address
		c := connect(t, client.Options{Addresses: []string{first}, RunMessages: 3})
		ctx := patient(t)
		sent := 0
		send := func() {
			for range 10 {
				if err := c.Send(ctx, "t", hermes.Consistent, &hermes.Message{Payload: strconv.AppendInt(nil, int64(sent), 10)}, func(_ client.Receipt, err error) {
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
		before := atFollower.Load()
		for sent < 100 || reachable && atLeader.Load() == 0 {
			send()
		}
		if after := atFollower.Load(); !reachable && (atLeader.Load() > 0 || after == before) {
			t.Errorf("%d runs at the leader, %d at the follower", atLeader.Load(), after)
		}
		wantStored(t, m, sequence(sent))
	}
}
