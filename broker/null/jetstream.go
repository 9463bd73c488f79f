package null

import (
	"encoding/json"
	"strconv"
	"strings"
)

// The types of replies of the JetStream API that clients here check.
const (
	natsCreated = "2026-01-01T00:00:00Z"
	natsMissing = `{"error":{"code":404,"err_code":10059,"description":"stream not found"}}`
	natsNobody  = `{"error":{"code":404,"err_code":10014,"description":"consumer not found"}}`
)

// ask answers a request to the JetStream API. words is its subject after $JS.API, split at the dots.
func (c *natsConn) ask(words []string, reply string, body []byte) {
	at := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	stream, consumer := at(2), at(3)
	switch at(0) + "." + at(1) {
	case "INFO.":
		c.answer(
			reply,
			[]byte(
				`{"type":"io.nats.jetstream.api.v1.account_info_response","limits":{"max_memory":-1,"max_storage":-1,"max_streams":-1,"max_consumers":-1},"api":{"total":0,"errors":0}}`,
			),
		)
	case "STREAM.INFO":
		if !c.server.has(stream) {
			c.answer(reply, []byte(natsMissing))
			return
		}
		c.answer(reply, streamInfo(json.RawMessage(`{"name":`+strconv.Quote(stream)+`}`)))
	case "STREAM.CREATE":
		c.server.topic(stream)
		c.answer(reply, streamInfo(body))
	case "STREAM.DELETE":
		c.server.remove(stream)
		c.answer(reply, []byte(`{"success":true}`))
	case "CONSUMER.CREATE":
		var wanted struct {
			Config json.RawMessage `json:"config"`
		}
		if json.Unmarshal(body, &wanted) != nil || !c.server.has(stream) || consumer == "" {
			c.answer(reply, []byte(natsMissing))
			return
		}
		c.server.topic(stream).group(consumer)
		c.answer(reply, consumerInfo(stream, consumer, wanted.Config))
	case "CONSUMER.INFO":
		if !c.server.has(stream) || !c.server.topic(stream).reads(consumer) {
			c.answer(reply, []byte(natsNobody))
			return
		}
		c.answer(
			reply,
			consumerInfo(
				stream,
				consumer,
				json.RawMessage(`{"durable_name":`+strconv.Quote(consumer)+`,"ack_policy":"explicit"}`),
			),
		)
	case "CONSUMER.MSG":
		// CONSUMER.MSG.NEXT.STREAM.CONSUMER
		c.pull(at(3), at(4), reply, body)
	}
}

// reads reports whether a topic has a group.
func (t *topic) reads(name string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, there := t.groups[name]
	return there
}

// streamInfo returns the description of a stream. A config that is not valid JSON is left out.
func streamInfo(config json.RawMessage) []byte {
	if !json.Valid(config) {
		config = json.RawMessage(`{}`)
	}
	text, _ := json.Marshal(map[string]any{ // cannot fail: all values are valid
		"type": "io.nats.jetstream.api.v1.stream_create_response", "config": config, "created": natsCreated,
		"state": map[string]int{"messages": 0, "bytes": 0, "first_seq": 0, "last_seq": 0, "consumer_count": 0},
	})
	return text
}

func consumerInfo(stream, name string, config json.RawMessage) []byte {
	if len(config) == 0 {
		config = json.RawMessage(`{}`)
	}
	none := map[string]int{"consumer_seq": 0, "stream_seq": 0}
	text, _ := json.Marshal(map[string]any{ // cannot fail: all values are valid
		"type":        "io.nats.jetstream.api.v1.consumer_create_response",
		"stream_name": stream,
		"name":        name,
		"created":     natsCreated,
		"config":      config,
		"delivered":   none,
		"ack_floor":   none,
	})
	return text
}

// pull grants a consumer the number of messages that it requests. It never reports an expired request: the client
// makes a new one after its own timeout.
func (c *natsConn) pull(stream, consumer, reply string, body []byte) {
	var wanted struct {
		Batch int `json:"batch"`
	}
	id := c.subscription(reply)
	if json.Unmarshal(body, &wanted) != nil || id == "" || !c.server.has(stream) {
		return
	}
	name := stream + " " + consumer
	r, there := c.pulls[name]
	if !there {
		ack := "$JS.ACK." + stream + "." + consumer + ".1."
		r = &reader{give: func(body []byte, n uint64) {
			c.out.say(func(to []byte) []byte {
				seq := strconv.FormatUint(n, 10)
				return appendNATS(to, stream, id, strings.Join([]string{ack + seq, seq, "0", "0"}, "."), body)
			})
		}}
		c.pulls[name] = r
	}
	c.server.topic(stream).group(consumer).allow(r, max(1, wanted.Batch))
}
