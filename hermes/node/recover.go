package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/core"
	"wirelab/hermes/replica"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
	"wirelab/wire/status"
)

// unrecovered is the lineage of a cluster that is as it began, as others know it. Nodes of versions that knew of
// no lineages tell none.
const unrecovered = 1

// recovering is a recovery that was decided on and is not known to be done.
type recovering struct {
	Lineage uint64 // of the new cluster
	After   uint64 // the last entry that counts of the former cluster's
	Term    uint64 // of the entries behind, which take the other members out
}

// Recovered is what Recover made.
type Recovered struct {
	Survey
	Lineage uint64 // of the new cluster
}

// Recover makes a cluster of one of a directory whose node does not run, for when a majority of its cluster is
// lost for ever. All entries that are there count from then on, those too of which it is unknown whether they
// were acknowledged: to drop one that was would lose it, and one that was not may be there. Topics, offsets,
// groups and producers stay as they are. The new cluster has its own lineage, by which its nodes and those of
// the former one refuse each other.
//
// confirm learns what is there before anything is changed, and its error ends it. A power cut leaves the
// directory as it was or, once the membership file of members says that it is decided, such that the next start
// or Recover does the rest.
//
// The error is [vfs.ErrLocked] where a node runs on the directory, NotFound where there is no log, Conflict where
// there is nothing to recover from or for, a [wal.Damage], or confirm's.
func Recover(ctx context.Context, files vfs.FS, dir string, confirm func(Survey) error) (Recovered, error) {
	if err := holdsLog(files, dir); err != nil {
		return Recovered{}, err
	}
	lock, err := files.Lock(dir)
	if err != nil {
		return Recovered{}, err
	}
	done, err := recoverLocked(ctx, held{files}, dir, confirm)
	return done, errors.Join(err, lock.Close())
}

func recoverLocked(ctx context.Context, files vfs.FS, dir string, confirm func(Survey) error) (Recovered, error) {
	c, err := OpenCopy(ctx, files, dir, true)
	if err != nil {
		return Recovered{}, err
	}
	done := Recovered{Survey: c.Survey()}
	conf := c.conf
	if err := c.Close(); err != nil {
		return done, err
	}
	b, err := readMembership(files, dir)
	if err != nil {
		return done, err
	}
	if b.page.Recovering == nil {
		if err := recoverable(dir, done.Survey, conf); err != nil {
			return done, err
		}
		if err := confirm(done.Survey); err != nil {
			return done, err
		}
		b.page.Recovering = &recovering{
			Lineage: unrecovered + 1 + rand.Uint64N(1<<62), After: done.Last,
			Term: done.Term + 1,
		}
		if err := b.write(); err != nil {
			return done, err
		}
	}
	done.Lineage = b.page.Recovering.Lineage
	return done, b.recover()
}

// recoverable refuses cases with a better way.
func recoverable(dir string, s Survey, conf *raftpb.ConfState) error {
	switch {
	case s.Node == 0:
		return status.Errorf(status.Conflict,
			"%s does not say whose directory it is, for it has no %s: hermes export it, "+
				"and restore that into a new cluster", dir, membershipName)
	case !takesPart(conf, s.Node):
		return status.Errorf(status.Conflict,
			"node %d was removed from its cluster, by its own log: hermes export its "+
				"directory, and restore that into a new cluster", s.Node)
	case len(conf.GetVoters()) == 1 && conf.GetVoters()[0] == s.Node && len(conf.GetLearners()) == 0:
		return status.Errorf(status.Conflict, "node %d is the only member of its cluster: start it without recovery "+
			"(hermes server)",
			s.Node)
	case len(conf.GetVotersOutgoing()) > 0:
		return status.Errorf(status.Conflict, "the log of node %d ends within a change of members: hermes export its "+
			"directory, and restore that into a new cluster", s.Node)
	}
	return nil
}

// resume does the rest of a recovery that was decided on.
func resume(files vfs.FS, dir string) error {
	b, err := readMembership(files, dir)
	if err != nil || b.page.Recovering == nil {
		return err
	}
	lock, err := files.Lock(dir)
	if err != nil {
		return err
	}
	b.fs = held{files}
	return errors.Join(b.recover(), lock.Close())
}

// recover does what the page's Recovering says, from wherever it was interrupted.
func (b *membership) recover() error {
	r := *b.page.Recovering
	s := &opened{machine: core.New()}
	l, err := wal.Open(b.fs, b.dir, wal.Options{}, s.restore, s.keep)
	if err != nil {
		return err
	}
	entries, err := b.recoverLog(l, r)
	if err = errors.Join(err, l.Close()); err != nil {
		return fmt.Errorf("the recovery of %s is not done: %w", b.dir, err)
	}
	// What the former nodes had counts no more: those that join may have their ids. Before the membership file
	// says that all is done, so that an interruption leaves nothing of it.
	if err := b.fs.Remove(filepath.Join(b.dir, custodyName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &b.page
	if _, err := p.learn(slices.Concat(s.changes, entries)); err != nil {
		return err
	}
	p.Lineage, p.Recovering = r.Lineage, nil
	// Who comes back under an old id comes back with an old lineage, and is refused for it. A new node may have it.
	clear(p.Met)
	p.Incarnation, p.Stored = newIncarnation(), true
	return b.write()
}

// recoverLog puts the entries into the log that take the others out, unless they are there. It returns the changes of
// members that were not replayed.
func (b *membership) recoverLog(l *wal.Log, r recovering) ([]*raftpb.Entry, error) {
	hard, conf, err := l.InitialState()
	if err != nil || hard.GetCommit() > r.After {
		return nil, err // it counts already
	}
	var news []*raftpb.Entry
	for next := hard.GetCommit() + 1; next <= r.After; {
		entries, err := l.Entries(next, r.After+1, 8<<20)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if conf, err = replica.Change(conf, e); err != nil {
				return nil, err
			}
			if e.GetType() != raftpb.EntryNormal {
				news = append(news, e)
			}
			next = e.GetIndex() + 1
		}
	}
	own, err := secession(conf, b.page.Node, r)
	if err != nil {
		return nil, err
	}
	commit := r.After + uint64(len(own))
	if err := l.Append(&raftpb.HardState{Term: &r.Term, Vote: &b.page.Node, Commit: &commit}, own); err != nil {
		return nil, err
	}
	return slices.Concat(news, own), l.Sync()
}

// secession is the entries after which a node is the only member.
func secession(conf *raftpb.ConfState, self uint64, r recovering) ([]*raftpb.Entry, error) {
	var all []*raftpb.Entry
	add := func(kind raftpb.ConfChangeType, id uint64) error {
		data, err := proto.Marshal(single(kind, id, nil))
		if err != nil {
			return err
		}
		index := r.After + uint64(len(all)) + 1
		all = append(all, &raftpb.Entry{
			Term: &r.Term, Index: &index, Type: raftpb.EntryConfChangeV2.Enum(),
			Data: data,
		})
		conf, err = replica.Change(conf, all[len(all)-1])
		return err
	}
	if !slices.Contains(conf.GetVoters(), self) {
		if err := add(raftpb.ConfChangeAddNode, self); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Sorted(slices.Values(others(conf, self))) {
		if err := add(raftpb.ConfChangeRemoveNode, id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lineage is what others know.
func (b *membership) lineage() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.page.Lineage, unrecovered)
}

// related refuses a node whose cluster was recovered from a copy of this one's, or the other way round.
func (b *membership) related(id, lineage uint64) error {
	own, theirs := b.lineage(), max(lineage, unrecovered)
	switch own {
	case theirs:
		return nil
	case unrecovered:
		return status.Errorf(status.Conflict, "node %d is of a new cluster that was recovered from a copy (hermes "+
			"recover), and this node is of the former one: "+
			"take this node's directory away, and let it join the new cluster (hermes server --join)", id)
	}
	return status.Errorf(status.Conflict,
		"node %d is of another cluster of this name, and this one was recovered from "+
			"a copy (hermes recover): "+
			"take that node's directory away, and let it join (hermes server --join)", id)
}

// held is a file system whose lock its user holds already.
type held struct{ vfs.FS }

// Lock implements [vfs.FS].
func (held) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
