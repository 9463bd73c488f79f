package peer

import (
	"context"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// Entries is what a node is besides a broker, to other nodes: it gives entries of its log, with which they
// repair theirs. Who answers gives committed ones only. A node of a version that does not know of it says
// Unimplemented.
type Entries interface {
	// Entry is one of an index and a term. NotFound: it is not there, or not any more. Unavailable: not yet.
	Entry(ctx context.Context, index, term uint64) (*raftpb.Entry, error)
}

var _ Entries = remote{}

func (r remote) Entry(ctx context.Context, index, term uint64) (*raftpb.Entry, error) {
	request := &gen.Call{Method: gen.Method_METHOD_ENTRY, Index: index, Term: term}
	reply, err := r.call(ctx, request)
	if err != nil {
		return nil, err
	}
	e := new(raftpb.Entry)
	if err := proto.Unmarshal(reply.GetEntry(), e); err != nil || e.GetIndex() != index || e.GetTerm() != term {
		return nil, malformed(request)
	}
	return e, nil
}

// entry answers a node. Who is none yet has no log to repair.
func (s *session) entry(ctx context.Context, r *gen.Call) (*gen.Reply, error) {
	of, ok := s.local.(Entries)
	if !ok || s.from == 0 {
		return nil, status.Errorf(status.Unimplemented, "node %d gives no entries", s.id)
	}
	e, err := of.Entry(ctx, r.GetIndex(), r.GetTerm())
	if err != nil {
		return nil, err
	}
	data, err := proto.Marshal(e)
	return &gen.Reply{Entry: data}, err
}
