package grpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// adminStreams are the calls of service Admin that stream.
var adminStreams = map[string]stream{"Backup": (*api).backup}

// backup sends a cut. A reader that is slow holds up only itself: the next part is read once the one before is
// on its way.
func (d *api) backup(call grpc.ServerStream) error {
	var request pb.BackupRequest
	if err := next(call, &request); err != nil {
		return handshake(err)
	}
	for _, topic := range request.GetTopics() {
		if err := hermes.CheckTopic(topic); err != nil {
			return err
		}
	}
	ctx, end := d.until(call.Context())
	defer end(nil)
	c, err := d.broker.Cut(ctx, request.GetTopics())
	if err != nil {
		return stopped(ctx, err)
	}
	defer c.Close()
	err = sendCut(ctx, call, c)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func sendCut(ctx context.Context, call grpc.ServerStream, c broker.Cut) error {
	send := func(m *pb.BackupPart) error {
		if err := call.SendMsg(m); err != nil {
			return received(err)
		}
		return nil
	}
	at := c.At()
	if err := send(&pb.BackupPart{Part: &pb.BackupPart_Cut{Cut: &pb.BackupCut{
		Index: at.Index,
		Time:  at.Time,
	}}}); err != nil {
		return err
	}
	for {
		p, err := c.Next(ctx, deliveryBytes)
		if errors.Is(err, io.EOF) {
			return send(&pb.BackupPart{Part: &pb.BackupPart_End{End: &pb.BackupEnd{}}})
		}
		if err != nil {
			return err
		}
		if err := send(partReply(p)); err != nil {
			return err
		}
	}
}

func partReply(p broker.Part) *pb.BackupPart {
	switch {
	case p.Topic != nil:
		return &pb.BackupPart{Part: &pb.BackupPart_Topic{Topic: topic(*p.Topic)}}
	case p.Group != nil:
		return &pb.BackupPart{Part: &pb.BackupPart_Group{Group: group(*p.Group)}}
	}
	runs := &pb.OldRuns{Runs: make([]*pb.OldRun, 0, len(p.Runs))}
	for _, r := range p.Runs {
		runs.Runs = append(runs.Runs, &pb.OldRun{
			Offset: r.Offset, Messages: r.Messages, Count: uint32(r.Count),
			Time: r.Time,
		})
	}
	return &pb.BackupPart{Part: &pb.BackupPart_Runs{Runs: runs}}
}

func (d *api) restore(ctx context.Context, r *pb.RestoreRequest) (*pb.RestoreReply, error) {
	if err := hermes.CheckTopic(r.GetTopic()); err != nil {
		return nil, err
	}
	step := broker.Restore{ID: r.GetRestore(), Topic: broker.Topic{Name: r.GetTopic()}}
	switch does := r.GetStep().(type) {
	case *pb.RestoreRequest_Look:
		step.Step = broker.StepLook
	case *pb.RestoreRequest_Begin:
		b := does.Begin
		if b.GetRetentionAge() < 0 {
			return nil, status.Errorf(status.InvalidArgument, "retention_age must not be negative")
		}
		step.Step = broker.StepBegin
		step.Topic = broker.Topic{
			Name: r.GetTopic(), RetentionAge: b.GetRetentionAge(), RetentionBytes: b.GetRetentionBytes(),
			First: b.GetFirst(), Created: b.GetCreated(),
		}
	case *pb.RestoreRequest_Runs:
		step.Step = broker.StepRuns
		for _, run := range does.Runs.GetRuns() {
			count, err := record.CheckStored(run.GetMessages())
			if err != nil {
				return nil, err
			}
			if count != int(run.GetCount()) {
				return nil, status.Errorf(status.InvalidArgument,
					"a run at offset %d has %d messages and is said to have %d",
					run.GetOffset(), count, run.GetCount())
			}
			step.Runs = append(step.Runs, broker.Batch{
				Offset: run.GetOffset(), Count: count, Time: run.GetTime(),
				Messages: run.GetMessages(),
			})
		}
	case *pb.RestoreRequest_Group:
		g := does.Group.GetGroup()
		step.Step = broker.StepGroup
		step.Topic.Next = does.Group.GetNext()
		step.Group = broker.Group{
			Topic: r.GetTopic(), Name: g.GetConfig().GetName(), AckTimeout: g.GetConfig().GetAckTimeout(),
			MaxAttempts: g.GetConfig().GetMaxAttempts(), Floor: g.GetFloor(), Dead: g.GetDead(),
		}
		for _, a := range g.GetAcked() {
			step.Group.Acked = append(step.Group.Acked, broker.Range{First: a.GetFirst(), Last: a.GetLast()})
		}
	case *pb.RestoreRequest_End:
		step.Step = broker.StepEnd
		step.Topic.Next = does.End.GetNext()
	default:
		return nil, status.Errorf(status.InvalidArgument, "say which step: look, begin, runs, group or end")
	}
	done, err := d.broker.Restore(ctx, step)
	if err != nil {
		return nil, err
	}
	return &pb.RestoreReply{State: pb.RestoreReply_State(done.State), Next: done.Next}, nil
}
