package rest

import (
	"net/http"

	"wirelab/hermes/api/register"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// rangesLimit is how many ranges one acknowledgement may have, as at every API.
const rangesLimit = 4096

// ackJSON is the body of an acknowledgement, and of its opposite.
type ackJSON struct {
	Ranges []rangeJSON `json:"ranges"`
	Reason *string     `json:"reason"` // of a nack
	Delay  *string     `json:"delay"`  // likewise
}

// ack answers POST /v1/subscriptions/{id}/ack once it is certain to survive.
func (c *call) ack() error {
	feed, ranges, body, err := c.settling()
	if err != nil || feed == nil { // another node answered
		return err
	}
	if body.Reason != nil || body.Delay != nil {
		return status.Errorf(status.InvalidArgument, "reason and delay are for nack")
	}
	if err := register.Gone(c.ctx, feed.Ack(c.ctx, ranges)); err != nil {
		return err
	}
	return c.nothing()
}

// nack answers POST /v1/subscriptions/{id}/nack.
func (c *call) nack() error {
	feed, ranges, body, err := c.settling()
	if err != nil || feed == nil { // another node answered
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
	if err := register.Gone(c.ctx, feed.Nack(c.ctx, ranges, reason, delay)); err != nil {
		return err
	}
	return c.nothing()
}

// settling reads an acknowledgement and finds its feed.
func (c *call) settling() (of broker.Feed, ranges []broker.Range, body ackJSON, err error) {
	if err := c.query.done(); err != nil {
		return nil, nil, body, err
	}
	if err := c.decode(&body, jsonLimit, false); err != nil {
		return nil, nil, body, err
	}
	switch {
	case len(body.Ranges) == 0:
		return nil, nil, body, status.Errorf(status.InvalidArgument, "there are no ranges")
	case len(body.Ranges) > rangesLimit:
		return nil, nil, body, status.Errorf(status.InvalidArgument, "%d ranges at once; at most %d are allowed",
			len(body.Ranges), rangesLimit)
	}
	for _, r := range body.Ranges {
		if r.First > r.Last {
			return nil, nil, body,
				status.Errorf(status.InvalidArgument, "a range from %d to %d is none: both are inclusive",
					r.First, r.Last)
		}
		ranges = append(ranges, broker.Range(r))
	}
	id := c.variables[0]
	feed, group, ok := c.open.Find(id)
	switch {
	case ok && group:
		return feed, ranges, body, nil
	case ok:
		return nil, nil, body, status.Errorf(status.InvalidArgument,
			"the subscription has no group: there is nothing to acknowledge")
	}
	return nil, nil, body, c.elsewhere(id, body)
}

// elsewhere sends the caller to the node that has a subscription: by a redirect whose body says the same with
// the code that the other APIs give. One of this node is over, and what was not acknowledged comes again to
// another member. Where callers show who they are it is asked for them instead: clients do not show a token to
// another host that they are sent to, and are right not to.
func (c *call) elsewhere(id string, body ackJSON) error {
	at, err := register.Elsewhere(c.ctx, c.broker, id)
	if err != nil {
		return err
	}
	scheme := "http://"
	if c.request.TLS != nil {
		scheme = "https://"
	}
	address := scheme + at.HTTP + c.request.URL.EscapedPath()
	if c.guards() && c.request.Header.Get(handedOn) == "" {
		if done, err := c.handOn(address, body); done || err != nil {
			return err
		}
	}
	c.writer.Header().Set("Location", address)
	return &refusal{status: http.StatusTemporaryRedirect, told: register.ErrElsewhere(at)}
}
