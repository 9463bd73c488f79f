package node

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/replica"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
	"wirelab/wire/status"
)

// Survey describes the content of a directory, and what other nodes may have had in addition.
type Survey struct {
	Cluster string
	Node    uint64          // whose directory it is
	Others  []broker.Member // of its cluster
	Term    uint64          // the last that it took part in
	// Committed is the last entry that is known to have been on a majority of nodes. Those behind it, up to Last,
	// are on this node, and nothing here tells whether they were on another: a part of them may have been
	// acknowledged. Entries that are not here, others may have acknowledged without this node.
	Committed, Last uint64
	Time            int64 // Unix nanoseconds: the stamp of the last entry here that has one; 0: none has
	Topics          int
	Messages        uint64 // of all topics, that are kept
}

// Copy is the directory of a node that does not run, opened to be read. Nothing in it is changed, and it is
// locked in the meantime. It is for one goroutine; its cuts are, too.
type Copy struct {
	log    *wal.Log
	state  *opened
	conf   *raftpb.ConfState
	survey Survey
	end    chan struct{}
}

// OpenCopy opens a directory as a start of its node would, with all that is known to be committed or, with
// beyond, with the entries behind, too. The error is [vfs.ErrLocked] where a node runs on the directory,
// NotFound where there is no log, a [wal.Damage], or ctx's.
func OpenCopy(ctx context.Context, files vfs.FS, dir string, beyond bool) (*Copy, error) {
	if err := holdsLog(files, dir); err != nil {
		return nil, err
	}
	c := &Copy{state: &opened{machine: core.New()}, end: make(chan struct{})}
	apply := func(e *raftpb.Entry) ([]wal.Placed, error) {
		if ctx.Err() != nil {
			return nil, status.Public(ctx.Err())
		}
		return c.state.keep(e)
	}
	var err error
	if c.log, err = wal.Open(vfs.NewOverlay(files), dir, wal.Options{}, c.state.restore, apply); err != nil {
		return nil, err
	}
	if err = c.look(files, dir, beyond, apply); err != nil {
		return nil, errors.Join(err, c.log.Close())
	}
	return c, nil
}

// look takes down what there is, and applies everything beyond the last entry that is known to be committed.
func (c *Copy) look(files vfs.FS, dir string, beyond bool, apply func(*raftpb.Entry) ([]wal.Placed, error)) error {
	b, err := readMembership(files, dir)
	if err != nil {
		return err
	}
	hard, conf, err := c.log.InitialState()
	if err != nil {
		return err
	}
	last, err := c.log.LastIndex()
	if err != nil {
		return err
	}
	c.conf = conf
	c.survey = Survey{
		Cluster: b.page.Cluster, Node: b.page.Node, Term: hard.GetTerm(),
		Committed: max(hard.GetCommit(), c.state.machine.Applied()), Last: last,
	}
	if beyond {
		if err := c.beyond(apply); err != nil {
			return err
		}
	}
	if _, err := b.page.learn(c.state.changes); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(b.page.Members)) {
		if m := b.page.Members[id]; id != b.page.Node {
			m.ID = id
			c.survey.Others = append(c.survey.Others, m)
		}
	}
	c.survey.Time = cmp.Or(c.state.time, c.state.machine.Time())
	for _, t := range c.state.machine.Topics("", "", 1<<30) {
		c.survey.Topics++
		c.survey.Messages += t.Next - t.First
	}
	return nil
}

// beyond applies the entries behind the last one that is known to be committed.
func (c *Copy) beyond(apply func(*raftpb.Entry) ([]wal.Placed, error)) error {
	for next := c.survey.Committed + 1; next <= c.survey.Last; {
		entries, err := c.log.Entries(next, c.survey.Last+1, 8<<20)
		if err != nil {
			return err
		}
		for _, e := range entries {
			placed, err := apply(e)
			if err == nil {
				err = c.log.Applied(e.GetIndex(), placed)
			}
			if err == nil {
				c.conf, err = replica.Change(c.conf, e)
			}
			if err != nil {
				return err
			}
			next = e.GetIndex() + 1
		}
	}
	return nil
}

// Survey is what the directory tells.
func (c *Copy) Survey() Survey { return c.survey }

// Cut reads topics, or all where none is named, as they are after the last entry that was applied. Its Point's time
// is that entry's.
func (c *Copy) Cut(_ context.Context, topics []string) (broker.Cut, error) {
	cut := &cut{of: source{fetch: c.log.Read, live: c.state.live, stopped: c.end}}
	cut.close = func() { cut.closed.Store(true) }
	return cut, cut.read(c.state.machine, topics, c.survey.Time)
}

// Close lets go of the directory. No cut is read any more.
func (c *Copy) Close() error {
	close(c.end)
	return c.log.Close()
}
