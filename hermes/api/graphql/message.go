package graphql

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"

	"wirelab/hermes"
	"wirelab/hermes/api/graphql/gen"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// either returns the bytes of a text or of base64, of which one at most is there.
func either(name string, text, inBase64 *string) ([]byte, error) {
	switch {
	case text != nil && inBase64 != nil:
		return nil, status.Errorf(status.InvalidArgument, "%s and %sBase64 are both given: give one", name, name)
	case text != nil:
		return []byte(*text), nil
	case inBase64 != nil:
		bytes, err := base64.StdEncoding.DecodeString(*inBase64)
		if err != nil {
			return nil, status.Errorf(status.InvalidArgument, "%sBase64 is not base64", name)
		}
		return bytes, nil
	}
	return nil, nil
}

// message makes an input one of the log's. A payload may be empty, but not absent.
func message(in *gen.MessageInput) (m hermes.Message, err error) {
	if in.Payload == nil && in.PayloadBase64 == nil {
		return m, status.Errorf(status.InvalidArgument, "payload is missing: give payload, or payloadBase64")
	}
	if m.Payload, err = either("payload", in.Payload, in.PayloadBase64); err != nil {
		return m, err
	}
	if m.Key, err = either("key", in.Key, in.KeyBase64); err != nil {
		return m, err
	}
	for _, h := range in.Headers {
		value, err := either("value", h.Value, h.ValueBase64)
		if err != nil {
			return m, err
		}
		m.Headers = append(m.Headers, hermes.Header{Name: h.Name, Value: value})
	}
	return m, nil
}

// checked completes a run with messages.
func checked(run broker.Run, messages []hermes.Message) (broker.Run, error) {
	if err := hermes.CheckTopic(run.Topic); err != nil {
		return run, err
	}
	for i := range messages {
		run.Messages = record.AppendMessage(run.Messages, &messages[i])
	}
	var err error
	run.Count, err = record.Check(run.Messages)
	return run, err
}

// shownBytes is text where bytes are UTF-8, and base64 else (hb-D28).
func shownBytes(value []byte) (text, inBase64 *string) {
	if utf8.Valid(value) {
		s := string(value)
		return &s, nil
	}
	s := base64.StdEncoding.EncodeToString(value)
	return nil, &s
}

// delivery is a message as a subscriber gets it.
func delivery(id, topic string, b *broker.Batch, offset uint64, m *hermes.Message) *gen.Delivery {
	// Attempts are few.
	d := &gen.Delivery{
		Subscription: id, Topic: topic, Time: timeText(b.Time), Attempt: int32(b.Attempt),
		Headers: []*gen.Header{},
	}
	if b.Attempt > 0 {
		d.Offset = &offset
	}
	if b.Gap != nil && offset == b.Offset {
		d.Gap = &gen.Gap{First: b.Gap.First, Last: b.Gap.Last}
	}
	d.Payload, d.PayloadBase64 = shownBytes(m.Payload)
	if len(m.Key) > 0 {
		d.Key, d.KeyBase64 = shownBytes(m.Key)
	}
	for _, h := range m.Headers {
		shown := &gen.Header{Name: h.Name}
		shown.Value, shown.ValueBase64 = shownBytes(h.Value)
		d.Headers = append(d.Headers, shown)
	}
	return d
}

// timeText is Unix nanoseconds as of RFC 3339, in UTC.
func timeText(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }

func idText(id uint64) string { return strconv.FormatUint(id, 10) }

func showVerdict(v broker.Verdict) *gen.Verdict {
	// At most hermes.RunMessages.
	shown := &gen.Verdict{Count: int32(v.Count), Duplicate: v.Duplicate, Provisional: v.Provisional}
	if v.Index == 0 {
		return shown // performance has no place in the log
	}
	shown.Term, shown.Index = &v.Term, &v.Index
	if !v.Provisional {
		at := timeText(v.Time)
		shown.Offset, shown.Time = &v.Offset, &at
	}
	return shown
}

func showTopic(t broker.Topic) *gen.Topic {
	shown := &gen.Topic{
		Name: t.Name, ID: idText(uint64(t.ID)), First: t.First, Next: t.Next, Bytes: t.Bytes,
		Created:     timeText(t.Created),
		Subscribers: int32(t.Subscribers),
	}
	if t.RetentionAge != 0 {
		age := time.Duration(t.RetentionAge).String()
		shown.RetentionAge = &age
	}
	if t.RetentionBytes != 0 {
		shown.RetentionBytes = &t.RetentionBytes
	}
	return shown
}

func showTopics(all []broker.Topic) []*gen.Topic {
	shown := []*gen.Topic{}
	for _, t := range all {
		shown = append(shown, showTopic(t))
	}
	return shown
}

func showGroup(g broker.Group) *gen.Group {
	shown := &gen.Group{
		Topic: g.Topic, Name: g.Name, AckTimeout: time.Duration(g.AckTimeout).String(),
		MaxAttempts: int32(min(g.MaxAttempts, 1<<31-1)),
		Floor:       g.Floor, Acked: []*gen.Range{}, Lag: g.Lag, Dead: g.Dead, Trimmed: g.Trimmed,
		Members:  int32(g.Members),
		InFlight: int32(g.InFlight), Redelivered: g.Redelivered,
	}
	for _, r := range g.Acked {
		shown.Acked = append(shown.Acked, &gen.Range{First: r.First, Last: r.Last})
	}
	return shown
}

func showGroups(all []broker.Group) []*gen.Group {
	shown := []*gen.Group{}
	for _, g := range all {
		shown = append(shown, showGroup(g))
	}
	return shown
}

func showCluster(s broker.Status) *gen.Cluster {
	shown := &gen.Cluster{
		Node: idText(s.Node), Term: s.Term, Committed: s.Committed, Applied: s.Applied,
		Members: []*gen.Member{},
	}
	if s.Leader != 0 {
		leader := idText(s.Leader)
		shown.Leader = &leader
	}
	if s.Unready != "" {
		shown.Unready = &s.Unready
	}
	for _, m := range s.Members {
		shown.Members = append(shown.Members, &gen.Member{
			ID: idText(m.ID), Name: m.Name, Peer: m.Peer, Grpc: m.GRPC, HTTP: m.HTTP, Learner: m.Learner,
			Leader: m.Leader,
			Match:  m.Match, Reached: m.Reached,
		})
	}
	return shown
}
