package wal

import (
	"fmt"

	"go.etcd.io/raft/v3/confchange"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"
)

// changeMembers is the members after a committed entry that changes them. Raft needs
// them on start as of the last entry applied, and writes them nowhere: they
// follow from the log, as everything does.
func changeMembers(conf *raftpb.ConfState, e *raftpb.Entry) (*raftpb.ConfState, error) {
	var change raftpb.ConfChangeI
	switch e.GetType() {
	case raftpb.EntryConfChange:
		c := &raftpb.ConfChange{}
		if err := proto.Unmarshal(e.GetData(), c); err != nil {
			return nil, fmt.Errorf("entry %d, a change of members: %w", e.GetIndex(), err)
		}
		change = c
	case raftpb.EntryConfChangeV2:
		c := &raftpb.ConfChangeV2{}
		if err := proto.Unmarshal(e.GetData(), c); err != nil {
			return nil, fmt.Errorf("entry %d, a change of members: %w", e.GetIndex(), err)
		}
		change = c
	default:
		return conf, nil
	}
	track := tracker.MakeProgressTracker(1, 0)
	config, progress, err := confchange.Restore(confchange.Changer{Tracker: track, LastIndex: e.GetIndex()}, conf)
	if err != nil {
		return nil, fmt.Errorf("the members before entry %d: %w", e.GetIndex(), err)
	}
	track.Config, track.Progress = config, progress
	changer := confchange.Changer{Tracker: track, LastIndex: e.GetIndex()}
	v2 := change.AsV2()
	auto, joint := v2.EnterJoint()
	switch {
	case v2.LeaveJoint():
		config, progress, err = changer.LeaveJoint()
	case joint:
		config, progress, err = changer.EnterJoint(auto, v2.Changes...)
	default:
		config, progress, err = changer.Simple(v2.Changes...)
	}
	if err != nil {
		return nil, fmt.Errorf("the members after entry %d: %w", e.GetIndex(), err)
	}
	track.Config, track.Progress = config, progress
	return track.ConfState(), nil
}
