package client

import (
	"context"
	"sync"
	"time"

	pb "wirelab/hermes/gen"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

// Parts of Patience: how long a node may say nothing before it is asked whether it lives,
// and how long it may take to say so. A node that takes half a second for what its loop
// answers from memory gets no heartbeat out either: the others elect without it, and what
// waits there waits in vain. gRPC's own keepalive would take 15 seconds to notice.
const (
	silentPart = 20
	pulsePart  = 10
	behindRest = 2 * time.Second // how long one that hangs is tried last
)

// pulse is whether a node lives. All who wait there share it.
type pulse struct {
	mu    sync.Mutex // held while asking, so that one asks for all
	asked time.Time
	err   error
}

// alive asks a node something that it can answer from memory. Any answer is a sign of life;
// the error is that there was none.
func (n *nodes) alive(ctx context.Context, address string) error {
	conn, err := n.conn(address)
	if err != nil {
		return nil // the client closes
	}
	n.mu.Lock()
	p := n.pulses[address]
	if p == nil {
		p = &pulse{}
		n.pulses[address] = p
	}
	n.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil || time.Since(p.asked) < n.options.Patience/silentPart {
		return p.err
	}
	within := n.options.Patience / pulsePart
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err = pb.NewAdminClient(conn).GetCluster(limited, &pb.GetClusterRequest{})
	if ctx.Err() != nil {
		return nil
	}
	p.asked, p.err = time.Now(), nil
	if err != nil && status.CodeOf(wiregrpc.Decode(err)) == status.DeadlineExceeded {
		p.err = status.Errorf(status.Unavailable, "%s hangs: it has said nothing for %v", address, within)
		n.behind(address)
	}
	return p.err
}

// guard asks a node for signs of life whenever it was silent for too long, until ctx ends
// or it gives none: then it calls end.
func (n *nodes) guard(ctx context.Context, address string, silent func(since time.Duration) bool, end func(error)) {
	most := n.options.Patience / silentPart
	ticker := time.NewTicker(max(most/2, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if !silent(most) {
			continue
		}
		if err := n.alive(ctx, address); err != nil {
			end(err)
			return
		}
	}
}

// behind puts a node behind all others for a while, no matter who names it the leader: the others do so until
// they have elected a new one.
func (n *nodes) behind(address string) {
	n.lost(address)
	n.mu.Lock()
	defer n.mu.Unlock()
	for a, until := range n.resting {
		if time.Now().After(until) {
			delete(n.resting, a)
		}
	}
	if len(n.resting) < learntLimit {
		n.resting[address] = time.Now().Add(behindRest)
	}
}
