package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/replica"
	"wirelab/hermes/wal"
)

// logEvery is how often the log is asked for its next segment: at 300 MB/s half of one
// is full in a tenth of a second.
const logEvery = 50 * time.Millisecond

// maintain owns the log's maintenance, and periodic work.
func (n *Node) maintain() {
	var last time.Time
	n.every(min(logEvery, n.options.Maintenance), func() {
		if err := n.keepLog(); err != nil {
			n.fail(err)
			return
		}
		if time.Since(last) < n.options.Maintenance {
			return
		}
		last = time.Now()
		n.keepSpace()
		n.keepMembership()
		n.keepCustody()
		n.regained()
		if n.skew.follow() {
			n.logger.Warn("the clock of this machine was set, and this node follows it")
		}
		n.keepAddress()
		n.loop.call(func(l *loop) {
			if l != nil {
				l.promote()
			}
		})
		if n.lead.Load().leader == n.options.Self.ID {
			n.retain()
		}
		if err := n.clean(); err != nil && !errors.Is(err, wal.ErrNoRoom) {
			n.fail(err)
		}
	})
}

// keepLog makes the next segment ready and seals the last one.
func (n *Node) keepLog() error {
	if err := n.log.Prepare(); err != nil && !errors.Is(err, wal.ErrNoRoom) {
		return err
	}
	for {
		if _, ok := n.log.Sealing(); !ok || n.membership.isLate() {
			return nil // late: the entries that the membership file lacks must be read again by a start
		}
		ended, err := n.seal()
		if errors.Is(err, wal.ErrNoRoom) {
			return nil // with the next round, perhaps
		}
		if ended || err != nil {
			return err
		}
	}
}

// sealed is the machine as a segment's index file keeps it.
type sealed struct {
	snapshot []byte
	conf     *raftpb.ConfState
	index    uint64
}

// seal seals the oldest segment. ended: the node is about to end, and nothing was done.
func (n *Node) seal() (ended bool, err error) {
	back := make(chan sealed, 1)
	ok := n.loop.call(func(l *loop) {
		if l == nil {
			close(back)
			return
		}
		m := l.replica.Machine()
		back <- sealed{m.Snapshot(), proto.CloneOf(l.replica.Conf()), m.Applied()}
	})
	if !ok {
		return true, nil
	}
	s, ok := <-back // the loop does all calls before it ends
	if !ok {
		return true, nil
	}
	// The machine may be ahead of this node's disk; a state after entries that a power
	// cut takes away would be damage to the next start.
	if !n.disk.indexed.wait(s.index, 0) || !n.disk.synced.wait(s.index, 0) {
		return true, nil
	}
	return false, n.log.Seal(s.index, s.snapshot, s.conf)
}

// clean gives back what no topic wants any more, one segment after the other.
func (n *Node) clean() error {
	for {
		done := false
		err := n.healed(func() (err error) {
			done, err = n.log.Clean(n.topics.live)
			return err
		})
		if errors.Is(err, errDamaged) {
			return nil // with the next round, perhaps
		}
		if !done || err != nil {
			return err
		}
		select {
		case <-n.stopped:
			return nil
		default:
		}
	}
}

// keepSpace looks whether there is room for published messages.
func (n *Node) keepSpace() {
	free, err := n.options.FS.Free(n.options.Dir)
	if err != nil {
		n.logger.Warn("free space is not known", "why", err)
		return
	}
	n.disk.free.Store(free)
	full := free < n.options.FreeBytes || n.disk.starved.Load()
	// A disk at the bound itself would be offered and taken back by turns.
	cramped := full || free < n.options.FreeBytes+n.options.FreeBytes/4
	if was := n.cramped.Swap(cramped); was != cramped {
		n.net.Tell() // before leadership is handed to who may think otherwise
	}
	if was := n.full.Swap(full); was != full {
		n.logger.Warn("free space on the disk", "bytes", free, "too little", full)
	}
}

// keepMembership notes that there is a log, so that one that is lost is missed, and writes what
// could not be written.
func (n *Node) keepMembership() {
	if n.disk.synced.reached() == 0 {
		return
	}
	if err := n.membership.keep(); err != nil {
		n.logger.Warn("the membership file cannot be written", "why", err)
	}
}

// keepAddress tells the cluster where this node is, when it was started at another
// address than it has in the log. It may have to ask around: a leader that looks for it
// where it was cannot tell it that it leads.
func (n *Node) keepAddress() {
	was, self := n.membership.member(n.options.Self.ID), plain(n.options.Self)
	if was == self || was.Name != self.Name || self.Name == "" || self.Peer == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*n.options.Tick)
	defer cancel()
	err := errNoLeader
	if n.within(n.lead.Load()) {
		_, err = n.Join(ctx, self)
	} else {
		for _, other := range slices.Concat(n.membership.others(self.ID), n.given.elsewhere(self.ID)) {
			if _, err = n.joinAt(ctx, n.peerOptions(), other, self); err == nil {
				break
			}
		}
	}
	if err != nil {
		n.logger.Warn("the others do not know this node's address yet", "why", err)
	}
}

// surplus is a topic and before which offset it has more bytes than it keeps.
type surplus struct {
	broker.Topic
	before uint64
}

// retainPage is how many topics the loop is asked about at once.
const retainPage = 1000

// retain trims messages that are older, or more, than topics keep. By age only where a majority agrees on the
// time.
func (n *Node) retain() {
	agreed := n.skew.get()
	aged, now := agreed.Sure && !agreed.Skewed, n.clock.stamp()
	if aged == n.ageless {
		n.ageless = !aged
		n.logger.Info("messages go by their age only while a majority of nodes agrees on the time", "it does", aged)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for after, more := "", true; more; {
		topics, err := look(ctx, n, func(m *core.Machine) ([]surplus, error) {
			page := m.Topics("", after, retainPage)
			if more = len(page) == retainPage; more {
				after = page[len(page)-1].Name
			}
			return surpluses(m, page)
		})
		if err != nil {
			return // the node is ending
		}
		for _, t := range topics {
			n.trim(t, now, aged)
		}
	}
}

// surpluses are those of the topics that keep not all.
func surpluses(m *core.Machine, topics []broker.Topic) ([]surplus, error) {
	var all []surplus
	for _, t := range topics {
		if t.RetentionAge == 0 && t.RetentionBytes == 0 {
			continue
		}
		before, err := m.Surplus(t.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, surplus{t, before})
	}
	return all, nil
}

// trim proposes that a topic gives up what it does not keep.
func (n *Node) trim(t surplus, now int64, aged bool) {
	before := t.before
	if t.RetentionAge > 0 && aged {
		if offset, err := n.byTime(t.ID, now-t.RetentionAge, t.Next); err == nil {
			before = max(before, offset)
		}
	}
	if before <= t.First {
		return
	}
	n.loop.propose(&proposal{
		items: commands(core.Trim(t.ID, before)), count: 1, ctx: context.Background(),
		answer: func(v replica.Verdict) {
			if err := failure(v); err != nil {
				n.logger.Warn("a topic could not be trimmed", "topic", t.Name, "why", err)
			}
		},
	})
}
