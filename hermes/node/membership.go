package node

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// membershipName is the file of the members' addresses.
const membershipName = "members.json"

// membership is the members' names and addresses. Raft's log knows members by id; what it says of them besides
// travels in the entries that let them in, and those are dropped one day, so it is kept in a file as well. The
// log is right about who takes part, the membership file only about how to reach him.
type membership struct {
	fs  vfs.FS
	dir string

	mu   sync.Mutex // guards all below
	page page
	bare bool // the file that was read had no sum
	late bool // the file lacks something of page that could not be written: the disk is full, or no file can be opened
}

// page is the file's content.
type page struct {
	// Sum is the CRC32C of the file's text in hexadecimal, with zeros in its own place. It comes
	// first. A file of a version that knew of no sums has none.
	Sum     string
	Cluster string // whose directory this is
	Node    uint64
	Index   uint64 // of the last change taken over
	Members map[uint64]broker.Member
	Removed map[uint64]bool // members that were, so that one can be told why it is alone
	// Incarnation is drawn when the directory is begun, so that others tell it from another of the same id.
	Incarnation uint64 `json:"Birth"`
	// Stored is that the log held something once. A log that is empty then was lost.
	Stored bool
	// Joined is an entry that was committed when this node was let in: what the log says before it of a member of
	// this id is about another one. 0: it began the cluster, or was let in by a version that did not note it.
	Joined uint64 `json:",omitempty"`
	// Met is whom this node has talked to, by their directories' incarnations.
	Met map[uint64]uint64
	// Lineage tells clusters of one name from each other, of which one was recovered from a copy of the other; 0: it
	// was not recovered. See Recover.
	Lineage uint64 `json:",omitempty"`
	// Recovering is a recovery that was decided on; the next start does the rest of it. nil: none was.
	Recovering *recovering `json:",omitempty"`
}

// metBefore stands for the incarnation of a node that was known before incarnations were.
const metBefore = 1

// openMembership reads the file, or begins it. A directory of another node is refused: a node
// that votes with another's memory would break what Raft builds on.
func openMembership(files vfs.FS, dir, cluster string, node uint64) (*membership, error) {
	b, err := readMembership(files, dir)
	if err != nil {
		return nil, err
	}
	switch {
	case b.page.Node == 0:
		b.page.Cluster, b.page.Node = cluster, node
		b.page.Incarnation = newIncarnation()
		return b, b.write()
	case b.page.Cluster != cluster || b.page.Node != node:
		return nil, status.Errorf(status.Conflict,
			"%s is the directory of node %d of cluster %q, and this is node %d of "+
				"%q: give each its own",
			dir, b.page.Node, b.page.Cluster, node, cluster)
	case b.page.Incarnation == 0: // of a version that knew of no incarnations
		b.page.Incarnation = newIncarnation()
		for id := range b.page.Members {
			b.page.Met[id] = metBefore
		}
		return b, b.write()
	case b.bare:
		if err := b.write(); err != nil && !vfs.Full(err) {
			return nil, err
		}
	}
	return b, nil
}

func readMembership(files vfs.FS, dir string) (*membership, error) {
	b := &membership{fs: files, dir: dir, page: page{
		Members: map[uint64]broker.Member{}, Removed: map[uint64]bool{},
		Met: map[uint64]uint64{},
	}}
	text, err := readFile(files, filepath.Join(dir, membershipName))
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(text, &b.page); err == nil {
		err = checkSum(text, b.page.Sum)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): %s", filepath.Join(dir, membershipName), err, replaced(b.page.Node))
	}
	b.bare = b.page.Sum == ""
	b.page.Sum = ""
	if b.page.Met == nil {
		b.page.Met = map[uint64]uint64{}
	}
	return b, nil
}

// KnowsOthers reports whether a node's directory names other nodes, which then must be able to reach it.
// A missing directory names none.
func KnowsOthers(dir string, node uint64) (bool, error) {
	b, err := readMembership(vfs.OS{}, dir)
	if err != nil {
		return false, err
	}
	for id := range b.page.Members {
		if id != node {
			return true, nil
		}
	}
	return false, nil
}

// sumAt is where the digits of the sum are in a membership file's text.
const sumAt = len("{\n\t\"Sum\": \"")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// textSum is the sum of a text, in digits.
func textSum(text []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) }

// membershipSum is the sum of a membership file's text, whatever digits are in its place.
func membershipSum(text []byte) string {
	text = bytes.Clone(text)
	copy(text[sumAt:], noSum)
	return textSum(text)
}

// noSum is in the place of a sum while it is made.
const noSum = "00000000"

// checkSum compares a text with the sum that it has; "": it is older than sums are.
func checkSum(text []byte, sum string) error {
	if sum == "" {
		return nil
	}
	if len(text) < sumAt+len(noSum) || string(text[sumAt:sumAt+len(noSum)]) != sum || membershipSum(text) != sum {
		return errors.New("its checksum is wrong")
	}
	return nil
}

// write puts the page in the place of the one before, whole or not at all. With mu.
func (b *membership) write() error {
	p := b.page
	p.Sum = noSum
	text, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	copy(text[sumAt:], membershipSum(text))
	return replaceFile(b.fs, b.dir, membershipName, text)
}

// replaceFile puts a file in the place of the one before, whole or not at all.
func replaceFile(files vfs.FS, dir, base string, text []byte) error {
	name, fresh := filepath.Join(dir, base), filepath.Join(dir, base+".new")
	if err := files.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := files.Create(fresh, int64(len(text)))
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	if err == nil {
		// Before the rename: the name could otherwise reach the disk before the content, and a power cut would
		// leave an empty file in the place of a good one.
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := files.Rename(fresh, name); err != nil {
		return err
	}
	return files.SyncDir(dir) // the rename is on disk only from then on
}

// readFile is a file's content.
func readFile(files vfs.FS, name string) ([]byte, error) {
	f, err := files.OpenRead(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	text := make([]byte, size)
	if n, err := f.ReadAt(text, 0); n < len(text) {
		return nil, errors.Join(err, f.Close())
	}
	return text, f.Close()
}

// learn takes over what entries say of members, those that it knows already left aside.
func (b *membership) learn(entries ...*raftpb.Entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed, err := b.page.learn(entries)
	if err != nil || !changed {
		return err
	}
	if err = b.write(); vfs.Full(err) || vfs.Exhausted(err) {
		// The log has it, and is not sealed before the membership file has it too.
		b.late, err = true, nil
	}
	return err
}

func (b *membership) isLate() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.late
}

func (p *page) learn(entries []*raftpb.Entry) (changed bool, err error) {
	for _, e := range entries {
		if e.GetIndex() <= p.Index {
			continue
		}
		context, changes, err := readChange(e)
		if err != nil {
			return changed, fmt.Errorf("entry %d changes members and cannot be read: %w", e.GetIndex(), err)
		}
		p.Index, changed = e.GetIndex(), true
		for _, c := range changes {
			id := c.GetNodeId()
			if c.GetType() == raftpb.ConfChangeRemoveNode {
				delete(p.Members, id)
				delete(p.Met, id)
				if id != p.Node || e.GetIndex() > p.Joined {
					p.Removed[id] = true
				}
				continue
			}
			delete(p.Removed, id)
			if len(context) == 0 {
				continue // a learner that is promoted stays where it is
			}
			var m broker.Member
			if err := json.Unmarshal(context, &m); err != nil {
				return changed, fmt.Errorf("entry %d has a member that cannot be read: %w", e.GetIndex(), err)
			}
			p.Members[id] = plain(m)
		}
	}
	return changed, nil
}

// readChange is the members and the data on them in an entry that changes them.
func readChange(e *raftpb.Entry) (context []byte, changes []*raftpb.ConfChangeSingle, err error) {
	var c raftpb.ConfChangeV2
	if e.GetType() == raftpb.EntryConfChange {
		var one raftpb.ConfChange
		if err := proto.Unmarshal(e.GetData(), &one); err != nil {
			return nil, nil, err
		}
		return one.GetContext(), one.AsV2().GetChanges(), nil
	}
	if err := proto.Unmarshal(e.GetData(), &c); err != nil {
		return nil, nil, err
	}
	return c.GetContext(), c.GetChanges(), nil
}

// take notes what the cluster that let this node in tells: its members, its lineage, and how far it is.
func (b *membership) take(s broker.Status) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.page.Lineage = s.Lineage; s.Lineage == unrecovered {
		b.page.Lineage = 0
	}
	b.page.Joined = s.Committed
	for _, m := range s.Members {
		if m.ID != 0 {
			b.page.Members[m.ID] = plain(m)
		}
	}
	return b.write()
}

func (b *membership) member(id uint64) broker.Member {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.page.Members[id]
	m.ID = id
	return m
}

// knows reports whether a node is a member.
func (b *membership) knows(id uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.page.Members[id]
	return ok
}

// others are the addresses of all members but one.
func (b *membership) others(id uint64) (addresses []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other, m := range b.page.Members {
		if other != id && m.Peer != "" {
			addresses = append(addresses, m.Peer)
		}
	}
	return addresses
}

func (b *membership) removed(id uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.page.Removed[id]
}

// plain is a member without what changes by the hour.
func plain(m broker.Member) broker.Member {
	return broker.Member{ID: m.ID, Name: m.Name, Peer: m.Peer, GRPC: m.GRPC, HTTP: m.HTTP}
}

// peers are the members that begin a cluster, in order, since all nodes must write
// the same first entries.
func peers(members []broker.Member) ([]raft.Peer, error) {
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b broker.Member) int { return cmp.Compare(a.ID, b.ID) })
	all := make([]raft.Peer, 0, len(members))
	for _, m := range members {
		context, err := json.Marshal(plain(m))
		if err != nil {
			return nil, err
		}
		all = append(all, raft.Peer{ID: m.ID, Context: context})
	}
	return all, nil
}

func takesPart(conf *raftpb.ConfState, id uint64) bool {
	return slices.Contains(conf.GetVoters(), id) || slices.Contains(conf.GetLearners(), id) ||
		slices.Contains(conf.GetVotersOutgoing(), id) || slices.Contains(conf.GetLearnersNext(), id)
}
