package rest

import (
	"context"
	_ "embed" // for the description of the API
	"fmt"
	"net/http"
	"strings"

	"wirelab/wire/status"
)

// openAPI describes all that this API serves; a test holds it to that.
//
//go:embed openapi.json
var openAPI []byte

// routes are all addresses, those that must be fast first.
func routes() []*route {
	type methods = map[string]func(*call) error
	return []*route{
		{path: "/v1/topics/{topic}/messages", methods: methods{"POST": (*call).publishTo}},
		{path: "/v1/publish", methods: methods{"POST": (*call).publishAll}},
		{path: "/publish", methods: methods{"POST": (*call).originPublish}},
		{path: "/publish/batch", methods: methods{"POST": (*call).originBatch}},
		{path: "/v1/subscriptions/{id}/ack", methods: methods{"POST": (*call).ack}},
		{path: "/v1/subscriptions/{id}/nack", methods: methods{"POST": (*call).nack}},
		{path: "/v1/topics/{topic}/events", methods: methods{"GET": (*call).events}, streams: true},
		{path: "/v1/producers", methods: methods{"POST": (*call).openProducer}},
		{path: "/v1/topics", methods: methods{"GET": (*call).listTopics}},
		{path: "/v1/topics/{topic}", methods: methods{
			"GET": (*call).getTopic, "PUT": (*call).createTopic, "PATCH": (*call).configureTopic,
			"DELETE": (*call).deleteTopic,
		}},
		{path: "/v1/topics/{topic}/groups", methods: methods{"GET": (*call).listGroups}},
		{path: "/v1/topics/{topic}/groups/{group}", methods: methods{
			"GET": (*call).getGroup, "PUT": (*call).createGroup, "DELETE": (*call).deleteGroup,
		}},
		{path: "/v1/topics/{topic}/groups/{group}/seek", methods: methods{"POST": (*call).seekGroup}},
		{path: "/v1/cluster", methods: methods{"GET": (*call).getCluster}},
		{path: "/v1/cluster/members", methods: methods{"POST": (*call).join}},
		{path: "/v1/cluster/members/{id}", methods: methods{"DELETE": (*call).remove}},
		{path: "/v1/cluster/members/{id}/promote", methods: methods{"POST": (*call).promote}},
		{path: "/v1/cluster/leader", methods: methods{"POST": (*call).transfer}},
		{path: "/v1/health/live", methods: methods{"GET": (*call).live}, open: true},
		{path: "/v1/health/ready", methods: methods{"GET": (*call).ready}, open: true},
		{path: "/livez", methods: methods{"GET": (*call).live}, open: true},
		{path: "/readyz", methods: methods{"GET": (*call).ready}, open: true},
		{path: "/v1/openapi.json", methods: methods{"GET": (*call).describe}, open: true},
		{path: "/subscribe", methods: methods{"GET": (*call).originSubscribe}, streams: true},
		{path: "/join", methods: methods{"POST": (*call).originJoin}},
		{path: "/status", methods: methods{"GET": (*call).originStatus}},
	}
}

// accepts refuses a caller whose Accept does not cover mediaType.
func (c *call) accepts(mediaType string) error {
	accept := strings.Join(c.request.Header.Values("Accept"), ",")
	if accept == "" {
		return nil
	}
	kind, _, _ := strings.Cut(mediaType, "/")
	for choice := range strings.SplitSeq(accept, ",") {
		name, _, _ := strings.Cut(choice, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case mediaType, "*/*", kind + "/*":
			return nil
		}
	}
	return refuse(http.StatusNotAcceptable, status.InvalidArgument, "nothing in Accept %.100q is known here: %s",
		accept,
		mediaType)
}

func (c *call) describe() error {
	if err := c.query.done(); err != nil {
		return err
	}
	c.send(http.StatusOK, mediaJSON, openAPI)
	return nil
}

// Health is how a node is: each tells what is wrong, or nil.
type Health interface {
	Live() error                     // would a start anew help?
	Ready(ctx context.Context) error // should callers go elsewhere?
	Files() (open, limit int)        // of the log; no error comes of them alone
}

// live says that the process answers, and nothing of the node is stuck.
func (c *call) live() error {
	if err := c.query.done(); err != nil {
		return err
	}
	if h := c.config.Health; h != nil {
		if err := h.Live(); err != nil {
			return err
		}
	}
	c.send(http.StatusOK, mediaJSON, []byte(`{"status":"live"}`))
	return nil
}

// ready says whether this node knows a leader and answers: whether it is worth
// sending it callers (hb-D33).
func (c *call) ready() error {
	if err := c.query.done(); err != nil {
		return err
	}
	// Status would say no more, and is not for those who show no token.
	if _, led := c.broker.Leader(); !led || c.ending.Err() != nil {
		return status.Errorf(status.Unavailable, "the node has no leader to turn to, or is stopping")
	}
	if h := c.config.Health; h != nil {
		if err := h.Ready(c.ctx); err != nil {
			return err
		}
		open, limit := h.Files()
		c.send(http.StatusOK, mediaJSON,
			fmt.Appendf(nil, `{"status":"ready","open_files":%d,"open_files_limit":%d}`, open,
				limit))
		return nil
	}
	c.send(http.StatusOK, mediaJSON, []byte(`{"status":"ready"}`))
	return nil
}
