package rest

import (
	"math"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// What the origin's clients call. Their replies have exactly its fields.

// originRun completes a run of the origin's: its modes are numbers, of which an
// unknown one is refused and not taken for consistent (hb-D27).
func originRun(topic string, mode int, payloads ...string) (broker.Run, error) {
	run := broker.Run{Topic: topic}
	if topic == "" || len(payloads) == 0 {
		return run, status.Errorf(status.InvalidArgument, "topic and payload are needed")
	}
	if mode < int(hermes.Consistent) || mode > int(hermes.Performance) {
		return run, status.Errorf(status.InvalidArgument,
			"mode is %d; want 0 (consistent), 1 (eventual) or 2 (performance)", mode)
	}
	run.Mode = hermes.Mode(mode) // 0 to 2
	for _, payload := range payloads {
		run.Messages = record.AppendMessage(run.Messages, &hermes.Message{Payload: []byte(payload)})
	}
	return checked(run)
}

// mediaForm is what curl says of a body of which it was told no type.
const mediaForm = "application/x-www-form-urlencoded"

// decodeOrigin reads a body of JSON, of which the origin asked no type. Its documented commands are curl's, which
// call any body a form, so that is taken, and a body without a type. A page elsewhere can send both without being
// allowed to. But its script names its origin, which admit refuses, and its form writes { as %7B, which is no JSON.
// The two other types that forms have are refused: a form can write JSON in them.
func (c *call) decodeOrigin(value any, limit int64) error {
	if media := c.media(); media != mediaJSON && media != mediaForm && media != "" {
		return c.errMedia(mediaJSON)
	}
	text, err := c.body(limit)
	if err != nil {
		return err
	}
	return decodeJSON(text, value)
}

// publishOrigin publishes a run, and makes its topic if it is not there.
func (c *call) publishOrigin(run broker.Run) error {
	runs := []broker.Run{run}
	verdicts := c.attempt(runs)
	if err := verdicts[0].Err; err != nil && status.CodeOf(err) == status.NotFound {
		if err := c.create(c.ctx, run.Topic); err != nil {
			return err
		}
		verdicts = c.attempt(runs)
	}
	c.count(runs, verdicts)
	return verdicts[0].Err
}

func (c *call) originPublish() error {
	if err := c.query.done(); err != nil {
		return err
	}
	var body struct {
		Topic   string `json:"topic"`
		Payload string `json:"payload"`
		Mode    int    `json:"mode"`
	}
	if err := c.decodeOrigin(&body, jsonLimit); err != nil {
		return err
	}
	if body.Payload == "" {
		return status.Errorf(status.InvalidArgument, "topic and payload are needed")
	}
	run, err := originRun(body.Topic, body.Mode, body.Payload)
	if err == nil {
		err = c.publishOrigin(run)
	}
	if err != nil {
		return err
	}
	c.send(http.StatusOK, mediaJSON, []byte(`{"success":true}`))
	return nil
}

func (c *call) originBatch() error {
	if err := c.query.done(); err != nil {
		return err
	}
	var body struct {
		Topic    string   `json:"topic"`
		Payloads []string `json:"payloads"`
		Mode     int      `json:"mode"`
	}
	if err := c.decodeOrigin(&body, jsonLimit); err != nil {
		return err
	}
	run, err := originRun(body.Topic, body.Mode, body.Payloads...)
	if err == nil {
		err = c.publishOrigin(run)
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, struct {
		Success bool `json:"success"`
		Count   int  `json:"count"`
	}{true, run.Count})
}

// originSubscribe answers GET /subscribe. Without ack=manual, which the origin did
// not have, messages are acknowledged once they are written.
func (c *call) originSubscribe() error {
	start := broker.Start{Topic: c.query.text("topic"), Group: c.query.text("group"), Create: true}
	ack := c.query.choice("ack", "auto", "manual")
	if err := c.query.done(); err != nil {
		return err
	}
	if err := hermes.CheckTopic(start.Topic); err != nil {
		return err
	}
	last := c.request.Header.Get("Last-Event-ID")
	switch start.Group {
	case "", hermes.Replay:
		if start.Group == hermes.Replay {
			start.From, start.Group = broker.FromOldest, ""
		}
		if last == "" {
			break
		}
		if err := resume(last, &start); err != nil {
			return err
		}
	default:
		if err := hermes.CheckGroup(start.Group); err != nil {
			return err
		}
		start.From = broker.FromGroup
	}
	return c.subscribe(start, form{
		open: func(id string) (string, []byte) {
			return "connected", append(appendText([]byte(`{"sub_id":`), id), '}')
		},
		message:  appendOrigin,
		autoAck:  ack == "auto" && start.Group != "",
		position: true,
	})
}

// appendOrigin appends a message as the origin writes them, its time in seconds. Whatever is no text comes as
// payload_base64 (hb-D28). The id is no other's (hb-D13); of a message that is in no log it is empty.
func appendOrigin(dst []byte, at *place, m *hermes.Message) []byte {
	dst = append(dst, `{"id":"`...)
	if at.attempt > 0 {
		dst = append(append(dst, at.topic...), '/') // a topic's name needs no escape
		dst = strconv.AppendUint(dst, at.offset, 10)
	}
	dst = append(dst, `","topic":`...)
	dst = appendText(dst, at.topic)
	dst = appendBytes(dst, "payload", m.Payload, false)
	dst = append(dst, `,"timestamp":`...)
	dst = strconv.AppendInt(dst, at.time/int64(time.Second), 10)
	return append(dst, '}')
}

// originJoin answers POST /join.
func (c *call) originJoin() error {
	if err := c.query.done(); err != nil {
		return err
	}
	var body struct {
		NodeID   string `json:"node_id"`
		RaftAddr string `json:"raft_addr"`
	}
	if err := c.decodeOrigin(&body, adminLimit); err != nil {
		return err
	}
	if body.NodeID == "" || body.RaftAddr == "" {
		return status.Errorf(status.InvalidArgument, "node_id and raft_addr are needed")
	}
	id, err := spelling.OriginNode(body.NodeID)
	if err != nil {
		return err
	}
	if _, err := c.broker.Join(c.ctx, broker.Member{ID: id, Name: body.NodeID, Peer: body.RaftAddr}); err != nil {
		return err
	}
	c.begun = true
	c.writer.WriteHeader(http.StatusOK)
	return nil
}

// The fields of the origin's status.
type (
	originStats struct {
		Global originGlobal           `json:"global"`
		Topics map[string]originTopic `json:"topics"`
	}
	originGlobal struct {
		Published  uint64  `json:"published_total"`
		Consumed   uint64  `json:"consumed_total"`
		Failed     uint64  `json:"failed_total"`
		Rate       float64 `json:"msg_per_sec"`
		Allocated  uint64  `json:"bytes_alloc_mb"`
		Goroutines int     `json:"num_goroutines"`
		Uptime     string  `json:"uptime"`
	}
	originTopic struct {
		Published   uint64  `json:"published_total"`
		Consumed    uint64  `json:"consumed_total"`
		Subscribers int     `json:"active_subscribers"`
		PublishRate float64 `json:"publish_rate_sec"`
		ConsumeRate float64 `json:"consume_rate_sec"`
	}
)

// originStatus answers GET /status. Published messages are what was stored, and consumed what was written to
// subscribers, both through this API (hb-D33); the first 1000 topics are shown. The numbers of the node itself
// are elsewhere.
func (c *call) originStatus() error {
	if err := c.query.done(); err != nil {
		return err
	}
	status, err := c.broker.Status(c.ctx)
	if err != nil {
		return err
	}
	topics, err := c.broker.ListTopics(c.ctx, "", "", listLimit)
	if err != nil {
		return err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	up := time.Since(c.tally.began)
	rate := func(n uint64) float64 { return math.Round(float64(n)/max(up.Seconds(), 1)*100) / 100 }
	stored, delivered, failed := c.total()
	stats := originStats{
		Global: originGlobal{
			Published: stored, Consumed: delivered, Failed: failed, Rate: rate(stored),
			Allocated: memory.Alloc >> 20, Goroutines: runtime.NumGoroutine(), Uptime: up.Round(time.Second).String(),
		},
		Topics: map[string]originTopic{},
	}
	for _, t := range topics {
		n := c.through(t.Name)
		stats.Topics[t.Name] = originTopic{
			Published: n.stored, Consumed: n.delivered, Subscribers: t.Subscribers, PublishRate: rate(n.stored),
			ConsumeRate: rate(n.delivered),
		}
	}
	name := func(id uint64) string {
		for _, m := range status.Members {
			if m.ID == id && m.Name != "" {
				return m.Name
			}
		}
		if id == 0 {
			return ""
		}
		return strconv.FormatUint(id, 10)
	}
	return c.json(http.StatusOK, struct {
		NodeID   string      `json:"node_id"`
		IsLeader bool        `json:"is_leader"`
		LeaderID string      `json:"leader_id"`
		Stats    originStats `json:"stats"`
	}{name(status.Node), status.Leader == status.Node, name(status.Leader), stats})
}
