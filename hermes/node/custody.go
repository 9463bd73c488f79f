package node

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab"
	"wirelab/hermes/peer"
	"wirelab/hermes/replica"
	"wirelab/hermes/vfs"
)

// A directory that is put back from an older copy looks like one that a node was killed over. Two
// things tell it: the others remember what they saw this node acknowledge, and a file here is not the one
// that the book knows by its time of birth, which no copy shares. The first needs one who saw it, the
// second a file system that keeps such times, and a copy that was made file by file.

// markName is the file whose birth stands for the directory's.
const markName = "birthmark"

// bookEvery is how many rounds of upkeep pass between two writes of the book for what was seen of nodes
// that are there; what was seen of one that is gone is written at once.
const bookEvery = 10

// custody tells whether the directory is a copy, and marks it if it has no mark, or was moved. An error says that it
// is not known.
func (b *book) custody(moved bool) (copied bool, err error) {
	d, ok := b.fs.(vfs.Dater)
	if !ok {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.page.Mark == "" || moved {
		return false, b.mark(d)
	}
	is, err := d.Born(filepath.Join(b.dir, markName))
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	return is != b.page.Mark, nil
}

// own marks the directory anew: what was a copy is now the directory.
func (b *book) own() error {
	d, ok := b.fs.(vfs.Dater)
	if !ok {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mark(d)
}

// mark makes the file and notes its birth. A cut between the two leaves a copy taken for one, or no mark. With mu.
func (b *book) mark(d vfs.Dater) error {
	name, fresh := filepath.Join(b.dir, markName), filepath.Join(b.dir, markName+".new")
	if err := b.fs.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := b.fs.Create(fresh, 8)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	born, err := d.Born(fresh)
	if err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			return b.fs.Remove(fresh)
		}
		return err
	}
	if err := b.fs.Rename(fresh, name); err != nil {
		return err
	}
	if err := b.fs.SyncDir(b.dir); err != nil {
		return err
	}
	b.page.Mark = born
	return b.write()
}

// touch changes the mark's bytes, so that a program which copies only what differs copies it too. With mu.
func (b *book) touch() error {
	if b.page.Mark == "" {
		return nil
	}
	f, err := b.fs.Open(filepath.Join(b.dir, markName))
	if err != nil {
		return err
	}
	b.touches++
	_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, b.touches), 0)
	return errors.Join(err, f.Close())
}

// saw takes over what the replica saw of the others. It is for the loop, by the tick.
func (b *book) saw(seen map[uint64]replica.Seen) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !maps.Equal(b.page.Seen, seen) {
		b.page.Seen, b.unwritten = maps.Clone(seen), true
	}
}

func (b *book) seen() map[uint64]replica.Seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.page.Seen)
}

// recall tells what to think of a node that has so much on its disk.
func (b *book) recall(id uint64, s peer.Standing) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.page.Seen[id].Lacks(replica.Standing(s)); err != nil {
		return wirelab.Errorf(wirelab.Conflict, "node %d has an older copy of its directory: %v; %s", id, err, replaced(id))
	}
	return nil
}

// keepSeen writes what was seen of the others.
func (b *book) keepSeen() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.unwritten {
		return nil
	}
	b.unwritten = false
	err := errors.Join(b.touch(), b.write())
	b.unwritten = err != nil
	return err
}

// keepSeen writes what was seen of the others: now and then, and when one of them is gone.
func (n *Node) keepSeen() {
	gone := false
	for id := range n.book.seen() {
		gone = gone || !n.net.Reached(id)
	}
	if n.rounds++; !gone && n.rounds%bookEvery != 0 {
		return
	}
	if err := n.book.keepSeen(); err != nil {
		n.logger.Warn("what is known of the other nodes cannot be written", "why", err)
	}
}

// doubted tells what a node on a copied directory does about it.
func (n *Node) doubted(copied bool) {
	switch {
	case !copied:
	case n.loop.replica.Doubtful():
		n.doubtful.Store(true)
		n.logger.Warn("this directory is a copy: the node votes for nobody until it has caught up with a leader of the others. "+
			"If the directory was only moved, and is the latest that this node had, start the node once with --moved", "dir", n.options.Dir)
	default:
		n.logger.Warn("this directory is a copy, and there is no other node to compare it with: "+
			"what was acknowledged after the copy was made is gone", "dir", n.options.Dir)
		n.ownDirectory()
	}
}

func (n *Node) ownDirectory() {
	if err := n.book.own(); err != nil {
		n.logger.Warn("the directory cannot be marked: with the next start it is taken for a copy again", "why", err)
	}
}

// regained ends the doubt once the replica has caught up. By upkeep: it writes.
func (n *Node) regained() {
	if n.caught.Load() && n.doubtful.Load() {
		n.ownDirectory()
		n.doubtful.Store(false)
		n.logger.Info("this node has caught up on its copied directory, and votes again")
	}
}

var errCopied = wirelab.Errorf(wirelab.Unavailable,
	"this node's directory is a copy: it votes for nobody until it has caught up with a leader of the others; "+
		"if the directory was only moved, and is the latest that the node had, start it once with --moved")

// apart is nodes that have committed other entries than this one.
type apart struct {
	mu  sync.Mutex
	why map[uint64]string // guarded by mu
}

// note reports whether a node is new among them.
func (a *apart) note(id uint64, why string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.why[id] != "" {
		return false
	}
	if a.why == nil {
		a.why = map[uint64]string{}
	}
	a.why[id] = why
	return true
}

// keep forgets those that are members no longer.
func (a *apart) keep(member func(id uint64) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.why, func(id uint64, _ string) bool { return !member(id) })
}

func (a *apart) err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(a.why)) {
		return wirelab.Errorf(wirelab.Unavailable, "node %d and this one have committed different entries: %s; %s", id, a.why[id], keepBoth)
	}
	return nil
}

// keepBoth is what to do about two histories.
const keepBoth = "one of them was started on an older copy of its directory. Stop writing, keep the directories of all nodes, and decide which history is to stay"

// strange reports whether an error of Step's tells of a node that has other entries, and says so.
func (l *loop) strange(m *raftpb.Message, err error) bool {
	var other *replica.Diverged
	if !errors.As(err, &other) {
		return false
	}
	if l.n.apart.note(m.GetFrom(), other.Why) {
		l.n.logger.Error("two nodes have committed different entries", "node", m.GetFrom(), "why", other.Why, "what to do", keepBoth)
	}
	return true
}

// partTicks is how long a node that ends waits for its last word to be sent.
const partTicks = 10

// part ends the node: at once, or where it has something to tell, when that is said.
func (l *loop) part(w replica.Work) {
	err := w.Err
	if other := new(replica.Diverged); errors.As(err, &other) {
		err = wirelab.Errorf(wirelab.Conflict, "node %d and this one have committed different entries: %s; %s", other.Node, other.Why, keepBoth)
		l.n.apart.note(other.Node, other.Why)
	}
	if len(w.Send) == 0 {
		l.n.fail(err)
		return
	}
	l.n.net.Send(w.Send)
	l.parting, l.partAt = err, l.ticks+partTicks
}
