package main

import (
	"context"
	"sync"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// heardLimit is how long a node may take to answer, before a status calls it unreachable.
const heardLimit = 1500 * time.Millisecond

// heard has facts about the nodes of a cluster beyond the status of the one that answered: a follower
// does not know which of the others live.
type heard struct {
	answers map[uint64]bool // by id: what each did that was asked from here
	leader  *broker.Status  // as the leader sees it; nil: it did not answer
}

// hear asks each member itself.
func (a *app) hear(ctx context.Context, f clientFlags, s broker.Status) heard {
	h := heard{answers: map[uint64]bool{s.Node: true}}
	if s.Node == s.Leader {
		h.leader = &s
	}
	var mu sync.Mutex // guards h
	var all sync.WaitGroup
	for _, m := range s.Members {
		if m.ID == s.Node || m.GRPC == "" {
			continue
		}
		all.Go(func() {
			one, err := a.askOne(ctx, f, m.GRPC)
			mu.Lock()
			defer mu.Unlock()
			// Another node may be behind the address: what counts is who says that it is the member.
			h.answers[m.ID] = err == nil && one.Node == m.ID
			if h.answers[m.ID] && one.Leader == m.ID {
				h.leader = &one
			}
		})
	}
	all.Wait()
	return h
}

// askOne asks the node at an address for its status.
func (a *app) askOne(ctx context.Context, f clientFlags, address string) (s broker.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, heardLimit)
	defer cancel()
	f.servers, f.timeout = []string{address}, heardLimit
	o, err := a.clientOptions(ctx, f)
	if err != nil {
		return s, err
	}
	c, err := client.New(o)
	if err != nil {
		return s, err
	}
	s, err = c.Status(ctx)
	_ = c.Close() // nothing is under way
	return s, err
}

// state is the fault of a member, or "".
func (h heard) state(m broker.Member) string {
	answers, asked := h.answers[m.ID]
	reached, known := false, false
	if h.leader != nil {
		for _, seen := range h.leader.Members {
			if seen.ID == m.ID {
				reached, known = seen.Reached || seen.Leader, true
			}
		}
	}
	switch {
	case known && !reached && asked && answers:
		return "not reached by the leader"
	case known && !reached, !known && asked && !answers:
		return "unreachable"
	case asked && !answers:
		return "no answer from it here"
	}
	return ""
}
