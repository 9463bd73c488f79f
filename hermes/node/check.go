package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/replica"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
	"wirelab/wire/status"
)

// WrongMembership is the kind of a finding in the membership file of members, in addition to those of package
// wal.
const WrongMembership wal.Kind = "wrong book of members"

// Checked is what [Check] saw.
type Checked struct {
	wal.Verified
	Cluster string
	Node    uint64          // whose directory it is; 0: the membership file does not tell
	Others  []broker.Member // from whom the node's data may be had again
	Topics  int
}

// Check reads the directory of a node that does not run, and changes nothing: the log, as wal.Verify says, with
// the machine that a node runs over it, and the membership file of members. Faults are in Findings. The error
// is [vfs.ErrLocked] where a node runs on the directory, NotFound where there is no log, or ctx's; then Checked
// is what was seen until then.
func Check(ctx context.Context, files vfs.FS, dir string, progress func(done, total int64)) (Checked, error) {
	if err := holdsLog(files, dir); err != nil {
		return Checked{}, err
	}
	s := &opened{machine: core.New()}
	v, err := wal.Verify(ctx, files, dir, wal.Verification{
		Restore: s.restore, Apply: s.keep, Same: s.same, Live: s.live, Progress: progress,
	})
	c := Checked{Verified: v, Topics: len(s.machine.Topics("", "", 1<<30))}
	if errors.Is(err, vfs.ErrLocked) {
		return c, err
	}
	c.membership(files, dir, s)
	return c, err
}

// holdsLog tells a directory without a log from others.
func holdsLog(files vfs.FS, dir string) error {
	names, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.ContainsFunc(names, isLog) {
		return status.Errorf(status.NotFound, "%s holds no log: name a node's data directory", dir)
	}
	return err
}

func isLog(name string) bool {
	kind := filepath.Ext(name)
	return kind == ".log" || kind == ".index" || kind == ".snapshot"
}

// restore is wal.Open's.
func (s *opened) restore(snapshot []byte, index uint64) error {
	if snapshot == nil {
		return nil
	}
	m, err := core.Restore(snapshot)
	if err != nil {
		return err
	}
	s.machine, s.time, s.changes = m, m.Time(), nil
	if m.Applied() != index {
		return fmt.Errorf("the snapshot after entry %d is one after %d", index, m.Applied())
	}
	return nil
}

// apply is wal.Open's.
func (s *opened) apply(e *raftpb.Entry) ([]wal.Placed, error) {
	outcomes, err := replica.Apply(s.machine, e)
	if err != nil {
		return nil, err
	}
	if e.GetType() != raftpb.EntryNormal {
		s.changes = append(s.changes, e)
		return nil, nil
	}
	var a applied
	err = a.read(e, outcomes, &s.time)
	return a.placed, err
}

// keep is apply, of entries whose bytes are another's soon.
func (s *opened) keep(e *raftpb.Entry) ([]wal.Placed, error) {
	if e.GetType() != raftpb.EntryNormal {
		e = proto.CloneOf(e)
	}
	return s.apply(e)
}

// same compares the state with a snapshot. Bytes may be of a former version, so both are written by this one.
func (s *opened) same(snapshot []byte) error {
	m, err := core.Restore(snapshot)
	if err != nil {
		return err
	}
	if bytes.Equal(m.Snapshot(), s.machine.Snapshot()) {
		return nil
	}
	here, there := s.machine.Topics("", "", 1<<30), m.Topics("", "", 1<<30)
	if len(here) != len(there) {
		return fmt.Errorf("it has %d topics, and the entries make %d", len(there), len(here))
	}
	for i := range here {
		if here[i] != there[i] {
			return fmt.Errorf("it has topic %s with offsets %d to %d, and by the entries %s has %d to %d",
				there[i].Name, there[i].First, there[i].Next, here[i].Name, here[i].First, here[i].Next)
		}
	}
	return errors.New("its groups or producers are others")
}

func (s *opened) live(topic uint32) (first uint64, ok bool) {
	t, ok := s.machine.TopicByID(topic)
	return t.First, ok
}

// membership checks the membership file of members against the log's.
func (c *Checked) membership(files vfs.FS, dir string, s *opened) {
	name := filepath.Join(dir, membershipName)
	wrong := func(format string, args ...any) {
		c.Findings = append(c.Findings, wal.Finding{Kind: WrongMembership, Damage: wal.Damage{
			File: name,
			Why:  fmt.Sprintf(format, args...),
		}})
	}
	b, err := readMembership(files, dir)
	if err != nil {
		wrong("%v", err)
		return
	}
	c.Cluster, c.Node = b.page.Cluster, b.page.Node
	if _, err := readCustody(files, dir); err != nil {
		other := filepath.Join(dir, custodyName)
		c.Findings = append(c.Findings,
			wal.Finding{Kind: WrongMembership, Damage: wal.Damage{File: other, Why: err.Error()}})
	}
	if b.page.Node == 0 {
		wrong("it is missing, or does not say whose directory this is")
		return
	}
	if len(c.Findings) == 0 {
		s.changes = slices.DeleteFunc(s.changes, func(e *raftpb.Entry) bool { return e.GetIndex() > c.Applied })
		// As a start does: what the log tells beyond the membership file is no damage.
		if _, err := b.page.learn(s.changes); err != nil {
			wrong("%v", err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.page.Members)) {
		m := b.page.Members[id]
		if m.ID = id; id != c.Node {
			c.Others = append(c.Others, m)
		}
	}
	// A commit index need not be on disk when the membership file is: then the membership file is ahead of what
	// was replayed.
	if len(c.Findings) > 0 || b.page.Index > c.Applied {
		return
	}
	for _, id := range slices.Concat(c.Conf.GetVoters(), c.Conf.GetLearners(), c.Conf.GetVotersOutgoing(),
		c.Conf.GetLearnersNext()) {
		if _, ok := b.page.Members[id]; !ok {
			wrong("node %d takes part by the log and has no address in the membership file", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.page.Removed)) {
		if b.page.Removed[id] && takesPart(c.Conf, id) {
			wrong("node %d was removed by the membership file, and takes part by the log", id)
		}
	}
}
