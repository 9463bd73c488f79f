package replica

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// opening is the storage as Raft finds it at its start.
type opening struct {
	raft.Storage
	state       *raftpb.HardState
	conf        *raftpb.ConfState
	appliedTerm uint64
	// blank: the log holds nothing that counts. It may hold the torn beginning of a
	// cluster whose first write was cut off, before any vote: the beginning is
	// written again over it.
	blank bool
}

// open checks what the library would panic over.
func open(o Options, storage raft.Storage, applied uint64) (*opening, error) {
	state, conf, err := storage.InitialState()
	if err != nil {
		return nil, err
	}
	first, err := storage.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := storage.LastIndex()
	if err != nil {
		return nil, err
	}
	s := &opening{Storage: storage, conf: conf}
	if o.Conf != nil {
		s.conf = o.Conf
	}
	if raft.IsEmptyHardState(state) && first == 1 && applied == 0 {
		s.blank = len(o.Members) > 0 || last == 0
	}
	if s.blank {
		last = 0
	}
	switch {
	case applied+1 < first:
		return nil, fmt.Errorf("replica: the log begins at entry %d, and the machine is after %d: the entries "+
			"between are lost",
			first, applied)
	case applied > last || state.GetCommit() > last:
		return nil, fmt.Errorf("replica: the log ends at entry %d, but %d is applied and %d committed: it lost its end",
			last,
			applied, state.GetCommit())
	}
	// A commit index is not synced by itself, so what was applied may be ahead of it.
	s.state = &raftpb.HardState{
		Term: new(state.GetTerm()), Vote: new(state.GetVote()),
		Commit: new(max(state.GetCommit(), applied, first-1)),
	}
	if applied > 0 {
		if s.appliedTerm, err = storage.Term(applied); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *opening) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	if s.blank {
		return &raftpb.HardState{}, s.conf, nil
	}
	return s.state, s.conf, nil
}

func (s *opening) LastIndex() (uint64, error) {
	if s.blank {
		return 0, nil
	}
	return s.Storage.LastIndex()
}

// Entries would be asked of a blank log only for what it does not have.
func (s *opening) Entries(lo, hi, limit uint64) ([]*raftpb.Entry, error) {
	if s.blank {
		return nil, raft.ErrUnavailable
	}
	return s.Storage.Entries(lo, hi, limit)
}

func (s *opening) Term(index uint64) (uint64, error) {
	if s.blank && index > 0 {
		return 0, raft.ErrUnavailable
	}
	return s.Storage.Term(index)
}
