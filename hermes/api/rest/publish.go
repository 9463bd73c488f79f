package rest

import (
	"context"
	"net/http"
	"strconv"

	"wirelab/hermes"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// runsLimit is how many runs one request may have.
const runsLimit = 256

// publish begins to publish runs in their order and waits for all verdicts, or for the call's end: the outcome
// is unknown then: what becomes of those that are missing. The runs' bytes are read until each verdict is there
// (hb-D14), and are counted as held as long.
func (c *call) publish(runs []broker.Run) []broker.Verdict {
	verdicts := c.attempt(runs)
	c.count(runs, verdicts)
	return verdicts
}

// attempt is publish for what may be tried again, and so is not counted yet.
func (c *call) attempt(runs []broker.Run) []broker.Verdict {
	type answer struct {
		place   int
		verdict broker.Verdict
	}
	answers := make(chan answer, len(runs)) // each answers once: none waits
	for i, run := range runs {
		c.hold.keep()
		c.broker.Publish(c.ctx, run, func(v broker.Verdict) {
			answers <- answer{i, v}
			c.hold.drop()
		})
	}
	verdicts := make([]broker.Verdict, len(runs))
	have := make([]bool, len(runs))
	for range runs {
		select {
		case a := <-answers:
			verdicts[a.place], have[a.place] = a.verdict, true
		case <-c.ctx.Done():
			for i := range verdicts {
				if !have[i] {
					verdicts[i].Err = status.Public(c.ctx.Err())
				}
			}
			return verdicts
		}
	}
	return verdicts
}

// hint names the leader if it is another node, so that a client can call it directly
// and save a hop. All replies have it, except those that need no token.
func (c *call) hint() {
	if leader := c.leader(c.ctx); leader != "" {
		c.writer.Header().Set("X-Leader-Hint", leader)
	}
}

// checked completes a run whose messages may come from any caller.
func checked(run broker.Run) (broker.Run, error) {
	if err := hermes.CheckTopic(run.Topic); err != nil {
		return run, err
	}
	if run.Producer == 0 && run.Sequence != 0 || run.Producer != 0 && run.Sequence == 0 {
		return run, status.Errorf(status.InvalidArgument,
			"producer and sequence come together: both from 1, or neither")
	}
	var err error
	run.Count, err = record.Check(run.Messages)
	return run, err
}

// publishTo answers POST /v1/topics/{topic}/messages.
func (c *call) publishTo() error {
	run := broker.Run{Topic: c.variables[0]}
	var err error
	if run.Mode, err = spelling.Mode(c.query.text("mode")); err != nil {
		return err
	}
	if text := c.query.text("producer"); text != "" {
		if run.Producer, err = spelling.ID("producer", text); err != nil {
			return err
		}
	}
	run.Sequence = c.query.number("sequence", 1<<64-1)
	if err := c.query.done(); err != nil {
		return err
	}
	if run.Messages, err = c.run(); err != nil {
		return err
	}
	if run, err = checked(run); err != nil {
		return err
	}
	verdict := c.publish([]broker.Run{run})[0]
	if verdict.Err != nil {
		return verdict.Err
	}
	c.send(http.StatusOK, mediaJSON, appendVerdict(nil, &verdict, ""))
	return nil
}

// run reads the body as a run's messages.
func (c *call) run() ([]byte, error) {
	switch media := c.media(); media {
	case mediaBytes:
		payload, err := c.body(hermes.PayloadLimit)
		if err != nil {
			return nil, err
		}
		return rawMessage(c.request.Header, payload)
	case mediaProto, "application/x-protobuf":
		return c.body(hermes.RunLimit)
	case mediaJSON:
		text, err := c.body(jsonLimit)
		if err != nil {
			return nil, err
		}
		var body struct {
			messageJSON
			Messages []messageJSON `json:"messages"`
		}
		if err := decodeJSON(text, &body); err != nil {
			return nil, err
		}
		if body.Messages == nil {
			return messages([]messageJSON{body.messageJSON})
		}
		if m := &body.messageJSON; m.Payload != nil || m.PayloadBase64 != nil || m.Key != nil || m.KeyBase64 != nil ||
			m.Headers != nil {
			return nil, status.Errorf(status.InvalidArgument, "the body is both a message and messages")
		}
		return messages(body.Messages)
	}
	return nil, c.errMedia(mediaJSON + ", " + mediaBytes + " or " + mediaProto)
}

// runJSON is a run in a body of several.
type runJSON struct {
	Topic    string        `json:"topic"`
	Mode     string        `json:"mode"`
	Producer string        `json:"producer"`
	Sequence uint64        `json:"sequence"`
	Messages []messageJSON `json:"messages"`
}

func (r *runJSON) run() (run broker.Run, err error) {
	run = broker.Run{Topic: r.Topic, Sequence: r.Sequence}
	if run.Mode, err = spelling.Mode(r.Mode); err != nil {
		return run, err
	}
	if r.Producer != "" {
		if run.Producer, err = spelling.ID("producer", r.Producer); err != nil {
			return run, err
		}
	}
	if run.Messages, err = messages(r.Messages); err != nil {
		return run, err
	}
	return checked(run)
}

// publishAll answers POST /v1/publish. Each run has its own verdict (hb-D16), one that is wrong in itself too,
// and 207 says that some failed.
func (c *call) publishAll() error {
	if err := c.query.done(); err != nil {
		return err
	}
	var body struct {
		Runs []runJSON `json:"runs"`
	}
	if err := c.decode(&body, jsonLimit, false); err != nil {
		return err
	}
	if len(body.Runs) == 0 || len(body.Runs) > runsLimit {
		return status.Errorf(status.InvalidArgument, "%d runs; want 1 to %d", len(body.Runs), runsLimit)
	}
	verdicts := make([]broker.Verdict, len(body.Runs))
	var good []broker.Run
	var at []int
	for i := range body.Runs {
		run, err := body.Runs[i].run()
		if err != nil {
			verdicts[i].Err = err
			continue
		}
		good, at = append(good, run), append(at, i)
	}
	for i, v := range c.publish(good) {
		verdicts[at[i]] = v
	}
	leader := c.leader(c.ctx)
	status, data := http.StatusOK, []byte(`{"verdicts":[`)
	for i, v := range verdicts {
		if i > 0 {
			data = append(data, ',')
		}
		if v.Err != nil {
			status = http.StatusMultiStatus
		}
		data = appendVerdict(data, &v, leader)
	}
	c.send(status, mediaJSON, append(data, "]}"...))
	return nil
}

// appendVerdict appends a verdict as JSON, by hand: it is the whole reply of the
// binary path.
func appendVerdict(dst []byte, v *broker.Verdict, leader string) []byte {
	if v.Err != nil {
		dst = append(dst, `{"error":`...)
		dst = append(dst, problemOf(v.Err, leader).encode()...)
		return append(dst, '}')
	}
	dst = append(dst, `{"count":`...)
	dst = strconv.AppendInt(dst, int64(v.Count), 10)
	if v.Provisional {
		dst = append(dst, `,"provisional":true`...)
	} else if v.Index != 0 { // what was in performance mode is in no log
		dst = append(dst, `,"offset":`...)
		dst = strconv.AppendUint(dst, v.Offset, 10)
		dst = append(dst, `,"time":"`...)
		dst = append(appendTime(dst, v.Time), '"')
		dst = append(dst, `,"duplicate":`...)
		dst = strconv.AppendBool(dst, v.Duplicate)
	}
	if v.Index != 0 {
		dst = append(dst, `,"term":`...)
		dst = strconv.AppendUint(dst, v.Term, 10)
		dst = append(dst, `,"index":`...)
		dst = strconv.AppendUint(dst, v.Index, 10)
	}
	return append(dst, '}')
}

// openProducer answers POST /v1/producers.
func (c *call) openProducer() error {
	if err := c.query.done(); err != nil {
		return err
	}
	if err := c.withoutBody(); err != nil {
		return err
	}
	id, err := c.broker.OpenProducer(c.ctx)
	if err != nil {
		return err
	}
	return c.json(http.StatusCreated, struct {
		Producer string `json:"producer"`
	}{strconv.FormatUint(id, 10)})
}

// create makes a topic that a client of the origin's takes for granted. Another
// caller may have made it, with another retention: then it is there.
func (d *API) create(ctx context.Context, topic string) error {
	_, err := d.broker.CreateTopic(ctx, broker.Topic{Name: topic})
	if err != nil && status.CodeOf(err) == status.Conflict {
		return nil
	}
	return err
}
