package graphql

import (
	"context"
	"encoding/base64"
	"net/http"
	"time"
	"unicode/utf8"

	"wirelab/hermes"
	"wirelab/hermes/api/graphql/gen/genorigin"
	"wirelab/hermes/broker"
	"wirelab/wire/graphql"
	"wirelab/wire/status"
)

// The types of replies: what the origin says, and what it says now who asks for that.
const (
	mediaPlain    = "application/json"
	mediaResponse = "application/graphql-response+json"
)

// plainly names replies as the origin does: its clients know no other type.
type plainly struct{ http.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w plainly) WriteHeader(status int) {
	w.name()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w plainly) Write(p []byte) (int, error) {
	w.name()
	return w.ResponseWriter.Write(p)
}

// Flush implements [http.Flusher], which streams of events need.
func (w plainly) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap is for [http.ResponseController].
func (w plainly) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w plainly) name() {
	if w.Header().Get("Content-Type") == mediaResponse {
		w.Header().Set("Content-Type", mediaPlain)
	}
}

// originRoot answers the origin's schema.
type originRoot struct{ *api }

var _ genorigin.ResolverRoot = originRoot{}

// Query implements [genorigin.ResolverRoot].
func (r originRoot) Query() genorigin.QueryResolver { return r }

// Mutation implements [genorigin.ResolverRoot].
func (r originRoot) Mutation() genorigin.MutationResolver { return r }

// Subscription implements [genorigin.ResolverRoot].
func (r originRoot) Subscription() genorigin.SubscriptionResolver { return r }

// Health says whether this node knows a leader; the origin's was a fixed text (hb-D33).
func (r originRoot) Health(context.Context) (string, error) {
	if _, ok := r.broker.Leader(); !ok {
		return "", status.Errorf(status.Unavailable, "the node has no leader to turn to")
	}
	return "ok", nil
}

func (r originRoot) Publish(ctx context.Context, topic, payload string,
	mode *genorigin.DeliveryMode,
) (*genorigin.PublishResponse, error) {
	if payload == "" {
		return nil, status.Errorf(status.InvalidArgument, "payload is empty")
	}
	return r.PublishBatch(ctx, topic, []string{payload}, mode)
}

// PublishBatch publishes, and makes the topic if it is not there, as the origin did.
func (r originRoot) PublishBatch(ctx context.Context, topic string, payloads []string,
	mode *genorigin.DeliveryMode,
) (*genorigin.PublishResponse, error) {
	run := broker.Run{Topic: topic}
	switch {
	case mode == nil || *mode == genorigin.DeliveryModeConsistent:
	case *mode == genorigin.DeliveryModeEventual:
		run.Mode = hermes.Eventual
	case *mode == genorigin.DeliveryModePerformance:
		run.Mode = hermes.Performance
	default:
		return nil, status.Errorf(status.InvalidArgument, "mode is %.40q, which is none", *mode)
	}
	if len(payloads) > hermes.RunMessages {
		return nil, status.Errorf(status.InvalidArgument, "%d payloads; at most %d are allowed", len(payloads),
			hermes.RunMessages)
	}
	all := make([]hermes.Message, len(payloads))
	for i, payload := range payloads {
		all[i].Payload = []byte(payload)
	}
	run, err := checked(run, all)
	if err != nil {
		return nil, err
	}
	err = r.publish(ctx, run)[0].Err
	if err != nil && status.CodeOf(err) == status.NotFound {
		made := func(ctx context.Context) (broker.Topic, error) {
			return r.broker.CreateTopic(ctx, broker.Topic{Name: topic})
		}
		// Conflict: another has made it, with a retention.
		if _, err := ask(ctx, made, showTopic); err != nil && status.CodeOf(err) != status.Conflict {
			return nil, err
		}
		err = r.publish(ctx, run)[0].Err
	}
	if err != nil {
		return nil, graphql.Told(err)
	}
	return &genorigin.PublishResponse{Success: true}, nil
}

// Subscribe is the origin's. Messages of a group are acknowledged once written.
func (r originRoot) Subscribe(ctx context.Context, topic string, groupID *string) (<-chan *genorigin.Message, error) {
	start := broker.Start{Topic: topic, Create: true}
	if err := names(topic); err != nil {
		return nil, err
	}
	switch {
	case groupID == nil || *groupID == "":
	case *groupID == hermes.Replay:
		start.From = broker.FromOldest
	default:
		if err := hermes.CheckGroup(*groupID); err != nil {
			return nil, err
		}
		start.From, start.Group = broker.FromGroup, *groupID
	}
	return follow(ctx, r.api, start, start.Group != "", func(_ string, b *broker.Batch, offset uint64,
		m *hermes.Message,
	) genorigin.Message {
		// the schema's, until 2038
		shown := genorigin.Message{Topic: topic, Timestamp: int32(b.Time / int64(time.Second))}
		if b.Attempt > 0 {
			shown.ID = topic + "/" + idText(offset)
		}
		if utf8.Valid(m.Payload) {
			shown.Payload = string(m.Payload)
		} else {
			inBase64 := base64.StdEncoding.EncodeToString(m.Payload)
			shown.PayloadBase64 = &inBase64
		}
		return shown
	})
}
