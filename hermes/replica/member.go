package replica

import (
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/confchange"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"wirelab/wire/status"
)

// ProposeChange proposes a change of members, one at a time; the verdict comes when
// it counts. InvalidArgument: it makes no sense for the members there are. Conflict:
// another is under way. Who joins should be a learner first, and be promoted when
// Status says that it has caught up: a voter without the log can stall the cluster.
func (r *Replica) ProposeChange(c raftpb.ConfChangeI) (ticket uint64) {
	ticket = r.nextTicket()
	if _, err := changed(r.conf, c.AsV2()); err != nil {
		r.answer(Verdict{
			Ticket: ticket,
			Err:    status.Errorf(status.InvalidArgument, "members cannot be changed so: %v", err),
		})
		return ticket
	}
	r.changes = append(r.changes, change{ticket, c})
	return ticket
}

// admit makes a snapshot one that its receiver accepts. The log keeps the oldest
// snapshot it can, so that all messages that are kept come after it; the members of
// then may lack who joined since, and a node ignores the snapshot of a cluster that it is
// not of. As a learner it decides nothing before the entries behind have told it
// who it is.
func admit(m *raftpb.Message) *raftpb.Message {
	conf := m.GetSnapshot().GetMetadata().GetConfState()
	for _, set := range [][]uint64{conf.GetVoters(), conf.GetLearners(), conf.GetVotersOutgoing()} {
		if slices.Contains(set, m.GetTo()) {
			return m
		}
	}
	m = proto.Clone(m).(*raftpb.Message)
	conf = m.GetSnapshot().GetMetadata().GetConfState()
	conf.Learners = append(conf.Learners, m.GetTo())
	slices.Sort(conf.Learners)
	return m
}

// switchMembers makes a committed change count. The library panics over one that
// makes no sense; ProposeChange lets none through, so this log is not ours.
func (r *Replica) switchMembers(e *raftpb.Entry) error {
	c, err := readChange(e)
	if err != nil {
		return err
	}
	if _, err := changed(r.conf, c); err != nil {
		return fmt.Errorf("replica: entry %d changes members as it cannot be: %w", e.GetIndex(), err)
	}
	r.conf = r.node.ApplyConfChange(c)
	for id := range r.seen {
		if !r.member(id) {
			delete(r.seen, id)
		}
	}
	return nil
}

// beginning is who takes part in a new cluster.
func beginning(members []raft.Peer) *raftpb.ConfState {
	conf := &raftpb.ConfState{}
	for _, m := range members {
		conf.Voters = append(conf.Voters, m.ID)
	}
	slices.Sort(conf.Voters)
	return conf
}

// Change is who takes part after an entry that changes it, and conf after any other entry. For a log that is
// read at the start, before there is a replica.
func Change(conf *raftpb.ConfState, e *raftpb.Entry) (*raftpb.ConfState, error) {
	if e.GetType() == raftpb.EntryNormal {
		return conf, nil
	}
	c, err := readChange(e)
	if err != nil {
		return nil, err
	}
	return changed(conf, c)
}

func readChange(e *raftpb.Entry) (*raftpb.ConfChangeV2, error) {
	var err error
	var c raftpb.ConfChangeI
	if e.GetType() == raftpb.EntryConfChange {
		var old raftpb.ConfChange
		err, c = proto.Unmarshal(e.GetData(), &old), &old
	} else {
		var v2 raftpb.ConfChangeV2
		err, c = proto.Unmarshal(e.GetData(), &v2), &v2
	}
	if err != nil {
		return nil, fmt.Errorf("replica: entry %d is no change of members: %w", e.GetIndex(), err)
	}
	return c.AsV2(), nil
}

func changed(conf *raftpb.ConfState, c *raftpb.ConfChangeV2) (*raftpb.ConfState, error) {
	changer := confchange.Changer{Tracker: tracker.MakeProgressTracker(1, 0), LastIndex: 1}
	config, progress, err := confchange.Restore(changer, conf)
	if err != nil {
		return nil, err
	}
	changer.Tracker.Config, changer.Tracker.Progress = config, progress
	if c.LeaveJoint() {
		config, progress, err = changer.LeaveJoint()
	} else if leave, joint := c.EnterJoint(); joint {
		config, progress, err = changer.EnterJoint(leave, c.GetChanges()...)
	} else {
		config, progress, err = changer.Simple(c.GetChanges()...)
	}
	if err != nil {
		return nil, err
	}
	changer.Tracker.Config, changer.Tracker.Progress = config, progress
	return changer.Tracker.ConfState(), nil
}
