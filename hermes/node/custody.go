package node

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/peer"
	"wirelab/hermes/replica"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// A directory that is put back from an older copy looks like one that a node was killed over. Two things tell
// it: the others remember what they saw this node acknowledge, and a file here is not the one that is known by
// when it was created, which no copy shares. The first needs one who saw it, the second a file system that
// keeps such times, and a copy that was made file by file.

// markName is the file whose time of creation stands for the directory's, and custodyName has what this is
// about: the mark, and what was seen of the others. It is not in the membership file of members, which the loop
// waits for: it is written now and then, and a disk may hang.
const (
	markName    = "birthmark"
	custodyName = "custody.json"
)

// custodyEvery is how many rounds of maintenance pass between two writes for what was seen of nodes that are
// there; what was seen of one that is gone is written at once.
const custodyEvery = 10

// custody is what tells a copy of a directory from it. Its file is a checksum and JSON.
type custody struct {
	fs      vfs.FS
	dir     string
	mark    string // the maintenance's, once the node runs
	touches uint64 // likewise
	rounds  int    // likewise

	mu        sync.Mutex // guards all below; not held over what the disk does
	seen      map[uint64]replica.Seen
	unwritten bool
}

// keptCustody is the file's content.
type keptCustody struct {
	Mark string                  // when the file was created, that stands for the directory; "": none was made
	Seen map[uint64]replica.Seen // what the others were seen to have on their disks
}

// readCustody reads the file. Where there is none, it is that of a former version.
func readCustody(files vfs.FS, dir string) (k keptCustody, err error) {
	text, err := readFile(files, filepath.Join(dir, custodyName))
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	sum, text, ok := bytes.Cut(text, []byte("\n"))
	if !ok || string(sum) != textSum(text) {
		return k, errors.New("its checksum is another: it is damaged")
	}
	return k, json.Unmarshal(text, &k)
}

// openCustody tells whether the directory is a copy, and marks it if it has no mark, or was moved. An error says that
// it is not known; if the file is damaged it is taken for a copy.
func openCustody(files vfs.FS, dir string, moved bool) (c *custody, copied bool, err error) {
	c = &custody{fs: files, dir: dir, seen: map[uint64]replica.Seen{}}
	k, err := readCustody(files, dir)
	if err != nil && !moved {
		return c, true, err
	}
	c.mark = k.Mark
	maps.Copy(c.seen, k.Seen)
	d, ok := files.(vfs.Dater)
	if !ok {
		return c, false, nil
	}
	if c.mark == "" || moved {
		return c, false, c.own()
	}
	is, err := d.Created(filepath.Join(dir, markName))
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return c, false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return c, false, err
	}
	return c, is != c.mark, nil
}

// own marks the directory anew: what was a copy is now the directory. Where it is cut off the directory is a copy
// still, or has no mark.
func (c *custody) own() error {
	d, ok := c.fs.(vfs.Dater)
	if !ok {
		return nil
	}
	if err := replaceFile(c.fs, c.dir, markName, make([]byte, 8)); err != nil {
		return err
	}
	created, err := d.Created(filepath.Join(c.dir, markName))
	if errors.Is(err, errors.ErrUnsupported) {
		created, err = "", nil
	}
	if err != nil {
		return err
	}
	c.mark = created
	return c.write()
}

// write writes what there is.
func (c *custody) write() error {
	c.mu.Lock()
	text, err := json.MarshalIndent(keptCustody{Mark: c.mark, Seen: c.seen}, "", "\t")
	c.unwritten = false
	c.mu.Unlock()
	if err == nil {
		err = replaceFile(c.fs, c.dir, custodyName, append([]byte(textSum(text)+"\n"), text...))
	}
	if err != nil {
		c.mu.Lock()
		c.unwritten = true
		c.mu.Unlock()
	}
	return err
}

// touch changes the mark's bytes, so that a program which copies only what differs copies it too.
func (c *custody) touch() error {
	if c.mark == "" {
		return nil
	}
	f, err := c.fs.Open(filepath.Join(c.dir, markName))
	if err != nil {
		return err
	}
	c.touches++
	_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, c.touches), 0)
	return errors.Join(err, f.Close())
}

// saw takes over what the replica saw of the others. It is for the loop, by the tick.
func (c *custody) saw(seen map[uint64]replica.Seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !maps.Equal(c.seen, seen) {
		c.seen, c.unwritten = maps.Clone(seen), true
	}
}

// known is what was seen, and whether the file lacks some of it.
func (c *custody) known() (seen map[uint64]replica.Seen, unwritten bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.seen), c.unwritten
}

// recall tells what to think of a node that has so much on its disk.
func (c *custody) recall(id uint64, s peer.Standing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.seen[id].Lacks(replica.Standing(s)); err != nil {
		return status.Errorf(status.Conflict, "node %d has an older copy of its directory: %v; %s", id, err,
			replaced(id))
	}
	return nil
}

// keepCustody writes what was seen of the others: now and then, and when one of them is gone. For the
// maintenance.
func (n *Node) keepCustody() {
	c := n.custody
	seen, unwritten := c.known()
	gone := false
	for id := range seen {
		gone = gone || !n.net.Reached(id)
	}
	if c.rounds++; !unwritten || !gone && c.rounds%custodyEvery != 0 {
		return
	}
	if err := errors.Join(c.touch(), c.write()); err != nil {
		n.logger.Warn("the state of the other nodes cannot be written", "why", err)
	}
}

// doubted tells what a node on a copied directory does about it.
func (n *Node) doubted(copied bool) {
	switch {
	case !copied:
	case n.loop.replica.Doubtful():
		n.doubtful.Store(true)
		n.logger.Warn("this directory is a copy: the node votes for no node until it has caught up with a leader of "+
			"the others. "+
			"If the directory was only moved, and is the latest that this node had, start the node once with --moved",
			"dir",
			n.options.Dir)
	default:
		n.logger.Warn("this directory is a copy, and there is no other node to compare it with: "+
			"what was acknowledged after the copy was made is gone", "dir", n.options.Dir)
		n.ownDirectory()
	}
}

func (n *Node) ownDirectory() {
	if err := n.custody.own(); err != nil {
		n.logger.Warn("the directory cannot be marked: with the next start it is taken for a copy again", "why", err)
	}
}

// regained ends the doubt once the replica has caught up. By the maintenance: it writes.
func (n *Node) regained() {
	if n.caught.Load() && n.doubtful.Load() {
		n.ownDirectory()
		n.doubtful.Store(false)
		n.logger.Info("this node has caught up on its copied directory, and votes again")
	}
}

var errCopied = status.Errorf(status.Unavailable,
	"this node's directory is a copy: it votes for no node until it has caught up with a leader of the others; "+
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
		return status.Errorf(status.Unavailable, "%s", split(id, a.why[id]))
	}
	return nil
}

// keepBoth is what to do about two histories.
const keepBoth = "one of them was started on an older copy of its directory. " +
	"Stop writing, keep the directories of all nodes, and decide which history is to stay"

func split(id uint64, why string) string {
	return fmt.Sprintf("node %d and this one have committed different entries: %s; %s", id, why, keepBoth)
}

// strange reports whether an error of Step means that a node has other entries, and logs it.
func (l *loop) strange(m *raftpb.Message, err error) bool {
	var other *replica.Diverged
	if !errors.As(err, &other) {
		return false
	}
	if l.n.apart.note(m.GetFrom(), other.Why) {
		l.n.logger.Error(split(m.GetFrom(), other.Why))
	}
	return true
}

// partTicks is how long a node that ends waits for its last word to be sent.
const partTicks = 10

// part ends the node: at once, or where it has something to tell, when that is said.
func (l *loop) part(w replica.Work) {
	err := w.Err
	if other := new(replica.Diverged); errors.As(err, &other) {
		err = status.Errorf(status.Conflict, "%s", split(other.Node, other.Why))
		l.n.apart.note(other.Node, other.Why)
	}
	if len(w.Send) == 0 {
		l.n.fail(err)
		return
	}
	l.n.net.Send(w.Send)
	l.parting, l.partAt = err, l.ticks+partTicks
}
