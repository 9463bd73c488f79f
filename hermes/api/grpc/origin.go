package grpc

import (
	"context"

	"wirelab/hermes"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/hermes/gen/origin"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// originMethods and originStreams are the origin's BrokerService: hb-F01 to hb-F05, with
// the codes that are true instead of its INTERNAL for all.
var (
	originMethods = map[string]method{
		"Publish":      whole((*api).originPublish),
		"PublishBatch": whole((*api).originPublishBatch),
		"Join":         whole((*api).originJoin),
	}
	originStreams = map[string]stream{
		"PublishStream": (*api).originPublishStream,
		"Subscribe":     (*api).originSubscribe,
	}
)

// originRuns is payloads as runs of a topic: one, or as many as their bounds need.
func originRuns(topic string, mode origin.DeliveryMode, payloads [][]byte) ([]broker.Run, error) {
	if err := hermes.CheckTopic(topic); err != nil {
		return nil, err
	}
	if mode < 0 || mode > origin.DeliveryMode_PERFORMANCE {
		// hb-D27.
		return nil, status.Errorf(status.InvalidArgument, "mode %d is none of CONSISTENT, EVENTUAL and PERFORMANCE",
			mode)
	}
	var runs []broker.Run
	run := broker.Run{Topic: topic, Mode: hermes.Mode(mode)}
	for i, payload := range payloads {
		if len(payload) > hermes.PayloadLimit {
			return nil, status.Errorf(status.InvalidArgument, "payload %d has %d bytes; at most %d are allowed", i,
				len(payload), hermes.PayloadLimit)
		}
		// A message without key and headers takes less than 16 bytes in addition to its payload.
		if run.Count == hermes.RunMessages || run.Count > 0 && len(run.Messages)+len(payload)+16 > hermes.RunLimit {
			runs = append(runs, run)
			run.Count, run.Messages = 0, nil
		}
		run.Messages = record.AppendMessage(run.Messages, &hermes.Message{Payload: payload})
		run.Count++
	}
	return append(runs, run), nil
}

// originStore publishes runs of one topic, which is made where it is not there, as the origin
// does. Stored is how many messages were; it is exact when err has a code that says so.
func (d *api) originStore(ctx context.Context, runs []broker.Run) (stored int, err error) {
	for _, run := range runs {
		// One after the other: with several on their way, an error would leave holes.
		_, err := d.storeOne(ctx, run)
		if err != nil && status.CodeOf(err) == status.NotFound {
			if _, err := d.broker.CreateTopic(ctx, broker.Topic{Name: run.Topic}); err != nil &&
				status.CodeOf(err) != status.Conflict {
				return stored, err
			}
			_, err = d.storeOne(ctx, run)
		}
		if err != nil {
			return stored, err
		}
		stored += run.Count
	}
	return stored, nil
}

func (d *api) originPublish(ctx context.Context, r *origin.PublishRequest) (*origin.PublishResponse, error) {
	runs, err := originRuns(r.GetTopic(), r.GetMode(), [][]byte{r.GetPayload()})
	if err != nil {
		return nil, err
	}
	_, err = d.originStore(ctx, runs)
	return &origin.PublishResponse{Success: true}, err
}

// originPublishBatch succeeds when all is stored. (hb-D16)
func (d *api) originPublishBatch(ctx context.Context, r *origin.PublishBatchRequest) (*origin.PublishResponse, error) {
	if len(r.GetPayloads()) == 0 {
		return nil, status.Errorf(status.InvalidArgument, "payloads is empty")
	}
	runs, err := originRuns(r.GetTopic(), r.GetMode(), r.GetPayloads())
	if err != nil {
		return nil, err
	}
	if stored, err := d.originStore(ctx, runs); err != nil {
		public := status.Public(err)
		return nil, status.Errorf(public.Code, "the first %d of %d payloads are stored, the next ones failed: %s",
			stored,
			len(r.GetPayloads()), public.Message)
	}
	return &origin.PublishResponse{Success: true}, nil
}

func (d *api) originJoin(ctx context.Context, r *origin.JoinRequest) (*origin.JoinResponse, error) {
	if r.GetRaftAddr() == "" {
		return nil, status.Errorf(status.InvalidArgument, "raft_addr is missing")
	}
	id, err := spelling.OriginNode(r.GetNodeId())
	if err != nil {
		return nil, err
	}
	_, err = d.broker.Join(ctx, broker.Member{ID: id, Name: r.GetNodeId(), Peer: r.GetRaftAddr()})
	return &origin.JoinResponse{Success: true}, err
}
