package peer

import (
	"context"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// Cut implements [broker.Archive]. No node asks another for it: each has all messages.
func (r remote) Cut(context.Context, []string) (broker.Cut, error) {
	return nil, status.Errorf(status.Unimplemented, "a node is read as a whole through its own API")
}

// Restore implements [broker.Archive].
func (r remote) Restore(ctx context.Context, step broker.Restore) (broker.Restored, error) {
	request := &gen.Call{Method: gen.Method_METHOD_RESTORE, Restore: writeRestore(step)}
	reply, err := r.call(ctx, request)
	if err != nil {
		return broker.Restored{}, err
	}
	if reply.GetRestored() == nil {
		return broker.Restored{}, malformed(request)
	}
	return readRestored(reply.GetRestored()), nil
}

func (s *session) doRestore(ctx context.Context, r *gen.Call) (*gen.Reply, error) {
	restored, err := s.local.Restore(ctx, readRestore(r.GetRestore()))
	return &gen.Reply{Restored: writeRestored(restored)}, err
}

func writeRestore(r broker.Restore) *gen.Restore {
	return &gen.Restore{
		Id: r.ID, Step: uint32(r.Step), Topic: writeTopic(r.Topic), Group: writeGroup(r.Group),
		Runs: each(r.Runs, func(b broker.Batch) *gen.Batch {
			return &gen.Batch{Offset: b.Offset, Count: uint32(b.Count), Time: b.Time, Messages: b.Messages}
		}),
	}
}

// readRestore: a step beyond what a byte holds is one that no node knows.
func readRestore(r *gen.Restore) broker.Restore {
	return broker.Restore{
		ID: r.GetId(), Step: broker.Step(min(r.GetStep(), 255)), Topic: readTopic(r.GetTopic()),
		Group: readGroup(r.GetGroup()),
		Runs: each(r.GetRuns(), func(b *gen.Batch) broker.Batch {
			return broker.Batch{
				Offset: b.GetOffset(), Count: int(b.GetCount()), Time: b.GetTime(),
				Messages: b.GetMessages(),
			}
		}),
	}
}

func writeRestored(r broker.Restored) *gen.Restored {
	return &gen.Restored{State: uint32(r.State), Next: r.Next}
}

func readRestored(r *gen.Restored) broker.Restored {
	return broker.Restored{State: broker.RestoreState(min(r.GetState(), 255)), Next: r.GetNext()}
}
