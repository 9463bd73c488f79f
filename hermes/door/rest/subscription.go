package rest

import (
	"net/http"

	"wirelab"
	"wirelab/hermes/broker"
	"wirelab/hermes/door/register"
	"wirelab/hermes/door/spelling"
)

// rangesLimit is how many ranges one acknowledgement may have.
const rangesLimit = 1000

// ackJSON is the body of an acknowledgement, and of its opposite.
type ackJSON struct {
	Ranges []rangeJSON `json:"ranges"`
	Reason *string     `json:"reason"` // of a nack
	Delay  *string     `json:"delay"`  // likewise
}

// ack answers POST /v1/subscriptions/{id}/ack once it is certain to survive.
func (c *call) ack() error {
	feed, ranges, body, err := c.settling()
	if feed == nil || err != nil {
		return err
	}
	if body.Reason != nil || body.Delay != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "reason and delay are for nack")
	}
	if err := register.Over(c.ctx, feed.Ack(c.ctx, ranges)); err != nil {
		return err
	}
	return c.nothing()
}

// nack answers POST /v1/subscriptions/{id}/nack.
func (c *call) nack() error {
	feed, ranges, body, err := c.settling()
	if feed == nil || err != nil {
		return err
	}
	reason, delay := "", int64(0)
	if body.Reason != nil {
		reason = *body.Reason
	}
	if body.Delay != nil {
		if delay, err = spelling.Duration("delay", *body.Delay); err != nil {
			return err
		}
	}
	if err := register.Over(c.ctx, feed.Nack(c.ctx, ranges, reason, delay)); err != nil {
		return err
	}
	return c.nothing()
}

// settling reads an acknowledgement. The feed is nil where the caller was sent to
// the node that has it.
func (c *call) settling() (of broker.Feed, ranges []broker.Range, body ackJSON, err error) {
	if err := c.query.done(); err != nil {
		return nil, nil, body, err
	}
	if err := c.decode(&body, jsonLimit, false); err != nil {
		return nil, nil, body, err
	}
	if len(body.Ranges) == 0 || len(body.Ranges) > rangesLimit {
		return nil, nil, body, wirelab.Errorf(wirelab.InvalidArgument, "%d ranges; want 1 to %d", len(body.Ranges), rangesLimit)
	}
	for _, r := range body.Ranges {
		if r.First > r.Last {
			return nil, nil, body, wirelab.Errorf(wirelab.InvalidArgument, "a range from %d to %d is none: both are inclusive", r.First, r.Last)
		}
		ranges = append(ranges, broker.Range(r))
	}
	id := c.variables[0]
	feed, group, ok := c.open.Find(id)
	switch {
	case ok && group:
		return feed, ranges, body, nil
	case ok:
		return nil, nil, body, wirelab.Errorf(wirelab.InvalidArgument, "the subscription has no group: there is nothing to acknowledge")
	}
	return nil, nil, body, c.elsewhere(id, body)
}

// elsewhere sends the caller to the node that has a subscription. One of this
// node is over, and what was not acknowledged comes again to another member. Where callers
// show who they are it is asked for them instead: clients do not show a token to another host
// that they are sent to, and are right not to.
func (c *call) elsewhere(id string, body ackJSON) error {
	gone := wirelab.Errorf(wirelab.NotFound, "there is no such subscription, or it is over: what was not acknowledged comes again")
	node, ok := register.NodeOf(id)
	if !ok || node == c.node(c.ctx) {
		return gone
	}
	status, err := c.broker.Status(c.ctx)
	if err != nil {
		return err
	}
	for _, m := range status.Members {
		if m.ID != node || m.HTTP == "" {
			continue
		}
		scheme := "http://"
		if c.request.TLS != nil {
			scheme = "https://"
		}
		if c.guards() && c.request.Header.Get(handedOn) == "" {
			if done, err := c.handOn(scheme+m.HTTP+c.request.URL.EscapedPath(), body); done || err != nil {
				return err
			}
		}
		c.begun = true
		c.writer.Header().Set("Location", scheme+m.HTTP+c.request.URL.EscapedPath())
		c.writer.WriteHeader(http.StatusTemporaryRedirect)
		return nil
	}
	return gone
}
