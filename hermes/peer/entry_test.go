package peer_test

import (
	"bytes"
	"context"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer"
	"wirelab/wire/status"
)

// logged is a broker with a log of one entry.
type logged struct {
	broker.Broker
	entry *raftpb.Entry
}

func (l logged) Entry(_ context.Context, index, term uint64) (*raftpb.Entry, error) {
	switch {
	case index == 99:
		return l.entry, nil // of another index than was asked for
	case index != l.entry.GetIndex() || term != l.entry.GetTerm():
		return nil, status.Errorf(status.NotFound, "entry %d of term %d is not there", index, term)
	}
	return l.entry, nil
}

// A node gets an entry of another's log, as it has it, or gets the reason not: that node is of a version
// without such calls, or has another entry.
func TestEntries(t *testing.T) {
	e := &raftpb.Entry{Index: new(uint64(7)), Term: new(uint64(3)), Data: bytes.Repeat([]byte{1, 2, 3}, 1<<20)}
	a, b, c := start(t, 1, memory(t)), start(t, 2, logged{memory(t), e}), start(t, 3, memory(t))
	meet(a, 1, b, 2)
	meet(a, 1, c, 3)
	reach(t, a, 2)
	reach(t, a, 3)
	ask := func(id, index, term uint64) (*raftpb.Entry, error) {
		return a.Broker(id).(peer.Entries).Entry(t.Context(), index, term)
	}
	got, err := ask(2, 7, 3)
	if err != nil || got.GetIndex() != 7 || got.GetTerm() != 3 || !bytes.Equal(got.GetData(), e.GetData()) {
		t.Errorf("%d bytes of entry %d, %v", len(got.GetData()), got.GetIndex(), err)
	}
	for _, refused := range []struct {
		id, index, term uint64
		code            status.Code
	}{{2, 7, 4, status.NotFound}, {2, 8, 3, status.NotFound}, {2, 99, 3, status.Internal}, {
		3, 7, 3,
		status.Unimplemented,
	}} {
		if _, err := ask(refused.id, refused.index, refused.term); err == nil || status.CodeOf(err) != refused.code {
			t.Errorf("%+v: %v", refused, err)
		}
	}
}
