package client_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/wire/status"
)

// apart is a node that leads until it is cut off from the others. From then on it knows no leader, and a
// subscriber waits for one.
type apart struct {
	broker.Broker
	address string
	cut     chan struct{} // closed when it is
	asked   atomic.Int64  // since
}

func (a *apart) isCut() bool {
	select {
	case <-a.cut:
		return true
	default:
		return false
	}
}

// Leader implements [broker.Cluster].
func (a *apart) Leader() (broker.Member, bool) {
	return broker.Member{ID: 1, GRPC: a.address}, !a.isCut()
}

// Subscribe implements [broker.Broker].
func (a *apart) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	if a.isCut() {
		a.asked.Add(1)
		<-ctx.Done()
		return nil, status.Public(ctx.Err())
	}
	f, err := a.Broker.Subscribe(ctx, start)
	return &apartFeed{f, a}, err
}

// apartFeed ends when its node is cut off.
type apartFeed struct {
	broker.Feed
	node *apart
}

// Next implements [broker.Feed].
func (f *apartFeed) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cut := make(chan struct{})
	go func() { // ends with Next, which waits for it
		defer close(cut)
		select {
		case <-f.node.cut:
			stop()
		case <-ctx.Done():
		}
	}()
	b, err := f.Feed.Next(ctx, room)
	stop()
	<-cut
	if err != nil && f.node.isCut() {
		err = status.Errorf(status.Unavailable, "this node leads no longer: subscribe again")
	}
	return b, err
}

// A member whose node leads no longer goes to another one: the node may be cut off, and
// it would wait there for as long as that lasts, while the others have a leader.
func TestMemberLeavesNodeThatIsCutOff(t *testing.T) {
	t.Parallel()
	m := memory(t)
	led := &apart{Broker: m, cut: make(chan struct{})}
	led.address = serve(t, led, api.Options{}).address
	other := serve(t, m, api.Options{}).address
	ctx := patient(t)
	c := connect(t, client.Options{
		Addresses: []string{led.address, led.address, led.address, other},
		Patience:  10 * time.Minute,
	})
	s, err := c.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	close(led.cut)
	publisher := connect(t, client.Options{Addresses: []string{other}})
	if failed := numbers(t, publisher, 1); len(failed) > 0 {
		t.Fatal(failed)
	}
	if _, err := s.Next(ctx); err != nil {
		t.Errorf("a message at the other node: %v; the one that is cut off was asked %d times", err, led.asked.Load())
	}
}
