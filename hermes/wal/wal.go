// Package wal is the log on disk. It stores Raft's entries and hard state. The entries contain the messages, which
// can be found by topic and offset. It knows runs (package record) and Raft's entries, but no state machine
// and no network. It has no goroutine and no clock: the owner of the log decides when it does what.
//
// # Files
//
//	NNNNNNNNNNNNNNNN.log    a segment, 64 MiB allocated before it is used, named by its number
//	NNNNNNNNNNNNNNNN.index  next to a sealed one: where its entries and each topic's runs are;
//	                        the state machine's snapshot
//	NNNNNNNNNNNNNNNN.G.log, .G.index  the same two, cleaned for the G-th time, or joined with those behind it
//	NNNNNNNNNNNNNNNN.snapshot  in place of all before: one that was installed
//
// segment = block(64 bytes: number, generation, salt) frame* zeros
//
// frame = length(u32 LE of the body) kind(1 byte: entry, state, start) sum(3 bytes: of the header)
// behind(u32 LE) crc32c(u32 LE of header and body, salted) body padding(zeros, to 8 bytes).
// An entry's body is index, term (u64 LE), type (1 byte), data. A header of zeros ends the segment.
//
// # What a power cut leaves
//
// Sectors that were not synced reach the disk in any order, so behind the last whole
// frame of the last segment there may be anything, whole frames too. Each frame says
// how many bytes before it were not known to be on disk when it was written
// (behind). Open cuts off what follows the first broken frame unless a whole one
// behind it tells that the broken one had been synced: that, and a broken frame in any
// other segment, is corruption that is not proven harmless: Open refuses with
// a [Damage] that says where. The salt keeps a message that looks like a frame from being one.
//
// # What survives
//
// The state machine's snapshot in an index file is after the last entry that had been
// applied then, which is the segment's last or a later one; in the second case the
// index file also holds the runs of those later entries. When the oldest segment is
// dropped its index file stays: it is the snapshot from which a follower that lags
// behind the first kept segment begins, and before it the log has no entries.
//
// Cleaned segments that are small are joined with their neighbours, entry by entry: one message that is kept
// for ever costs the entries behind it, without their messages, and not a file for each segment there was. The
// index file of a joined one tells how many numbers it holds; the numbers of them besides is what an
// interruption left. Files are opened when they are read, and no more than Options.OpenFiles of them are open
// at once.
//
// # Damage while the log is open
//
// A disk may change bytes that were right when Open read them. So whatever is read from a file has a checksum
// that is looked at then: an entry by its frame, which must be of the index and the term that were asked for; a
// run by that of its messages, and its record in the index file by one that covers offset, time, count and
// where the record is; a snapshot by that of its file. [Log.Scrub] looks at what no one reads. What it finds,
// or who reads ([Log.Mend]), is repaired in place: an index file by replaying the log, with the snapshot in the
// file before; an entry with another node's copy, which index, term and size must fit. There is nothing to make
// the snapshot before the first segment of.
package wal

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/vfs"
)

// Options are how a log is kept. The zero value of each is its default.
type Options struct {
	SegmentBytes int64 // 64 MiB; at least 4 KiB, at most 1 GiB
	CacheBytes   int   // of the newest entries, in memory: 16 MiB
	// OpenFiles are open at once to be read, whatever the log's size: 256, at least 4. A few more
	// are open to be written.
	OpenFiles int
	// Room is asked when the goroutine that appends needs a next segment and the disk has no room for one, or no
	// file can be opened. Nothing is harmed then: the caller was not yet answered for the current append. true:
	// try again. It may wait as long as it likes; a goroutine that cleans or reads continues. nil: false, and the
	// log ends, as by any failed write.
	Room func(why error) (again bool)
	// Files is asked as Room is, by who wants entries that are to be applied when no file can be
	// opened to read them. nil: false.
	Files func(why error) (again bool)
	// Machine makes an empty state machine, with which the log is replayed concurrently with everything else where
	// an index file is damaged: the file is then made again. nil: such damage is not repaired.
	Machine func() Machine
}

// ErrNoRoom is in the error of what was not begun, or was taken back whole, since the disk is
// full or no more files can be opened: the log is as it was, and it may be tried again.
var ErrNoRoom = errors.New("the disk is full")

// ErrNoFiles is an ErrNoRoom: the process, or the system, has as many files open as it may have.
var ErrNoFiles error = noFiles{}

type noFiles struct{}

func (noFiles) Error() string        { return "no more files can be opened" }
func (noFiles) Is(target error) bool { return target == ErrNoRoom }

// noRoom marks an error that came of a full disk, or of too many open files, and left nothing behind.
func noRoom(err error) error {
	switch {
	case vfs.Full(err):
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	case vfs.Exhausted(err):
		return fmt.Errorf("%w: %w", ErrNoFiles, err)
	}
	return err
}

// spoils is broken, but for an error that left the log as it was.
func (l *Log) spoils(err error) error {
	var d *Damage
	if errors.Is(err, ErrNoRoom) || errors.As(err, &d) {
		return err
	}
	return l.broken(err)
}

// The defaults, and the bounds of a segment.
const (
	segmentBytes    = 64 << 20
	segmentBytesMin = 4 << 10
	segmentBytesMax = 1 << 30
	cacheBytes      = 16 << 20
	openFiles       = 256
	openFilesMin    = 4
)

func (o Options) normal() Options {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = segmentBytes
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = cacheBytes
	}
	if o.OpenFiles == 0 {
		o.OpenFiles = openFiles
	}
	o.OpenFiles = max(o.OpenFiles, openFilesMin)
	o.SegmentBytes = min(max(o.SegmentBytes, segmentBytesMin), segmentBytesMax)
	return o
}

// Spare is how many bytes are to be left free on the disk so that the log's next segment can be
// made while the last one fills: two segments. Without room for one appends wait for Room, or end.
func (o Options) Spare() uint64 { return 2 * uint64(o.normal().SegmentBytes) }

// Placed is a run that the state machine accepted: messages, not a duplicate.
type Placed struct {
	Topic  uint32
	Offset uint64 // of the first
	Count  uint32
	Time   int64
	At     int // Run.At: where in the entry's data the messages begin
	Bytes  int // how many; 0: the run was cleaned, and Read passes over its offsets
}

// Live is what of a topic is kept, for retention and for cleaning: the messages
// from first on. ok is false when there is no such topic.
type Live func(topic uint32) (first uint64, ok bool)

// Usage is what the log takes.
type Usage struct {
	Segments    int
	Bytes       int64  // allocated
	First, Last uint64 // indices
}

// Damage is a file whose bytes are not what was written. What reads it must not go on before
// it is repaired ([Log.Mend]).
type Damage struct {
	File string
	At   int64 // bytes from the file's beginning
	Why  string
}

// Error says where the damage is, and what to do.
func (d *Damage) Error() string {
	return fmt.Sprintf("%s; what cannot be repaired is replaced with its node: remove the node from the cluster "+
		"(hermes "+
		"cluster remove) and let a new one join under another id (hermes server --join)", d.where())
}

// where is Error without what to do.
func (d *Damage) where() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s", d.File, d.At, d.Why)
}

// Log is an open log. One goroutine at a time appends (Append, Sync, Applied, Install); Prepare, Seal and Clean
// may run concurrently with it and with each other; any number read (the Storage methods, Read, ByTime, Usage).
// After a failed write or sync all that writes fails with the same error, for ever: the state on disk then is
// known only to the next Open.
type Log struct {
	fs    vfs.FS
	dir   string
	o     Options
	lock  interface{ Close() error }
	files *descriptors

	// For the goroutine that appends.
	buf    []byte
	synced int64 // of the active segment: bytes known to be on disk
	// syncs and written tell how much a sync writes, since a segment was made last.
	syncs, written atomic.Int64
	// dangling is, while opening, the last entry that followed none, or nil.
	dangling error

	// maintain is held by the goroutine that seals, cleans or installs; making by the goroutine that makes the
	// next segment, so that an append which needs it does not wait for a cleaning. Taken in this order, before mu.
	maintain, making sync.Mutex

	mu     sync.RWMutex // guards all below
	failed error
	state  *raftpb.HardState // as appended last
	conf   *raftpb.ConfState // as of Open
	base   base
	sealed []*segment // oldest first
	full   []*segment // to be sealed
	rolled []*segment // full too, from an Append whose entries are not in slots yet
	// replacing: a tail was replaced and that is not synced. Sealing waits: the index file knows only the file in
	// place, and a power cut would leave neither.
	replacing bool
	active    *segment
	prepared  *segment // the next, or nil
	slots     []slot   // of the entries in full and active, from slotFirst on
	// slotFirst is the index of slots[0]. Invariant: all before are in sealed, or before base.
	slotFirst uint64
	terms     []termFrom // rising; the first is at base.index or before
	cache     cache
	applied   uint64
	stable    uint64 // entries to here are on disk
	topics    map[uint32]*topic
	mended    []Damage // that Open repaired
}

var _ raft.Storage = (*Log)(nil)

// base is what the log begins after: index and term of the snapshot that stands for
// all before. The zero value is a log that has everything.
type base struct {
	index, term uint64
	number      uint64 // of the index file that has the snapshot; 0: none
	through     uint64 // of the last segment that it stands for
	name        string
}

// slot is where an entry is.
type slot struct {
	segment *segment
	at      uint32 // of the frame
	size    uint32 // of the body
}

// termFrom says that entries from an index on have a term.
type termFrom struct{ index, term uint64 }

// last is the index of the last entry. With mu.
func (l *Log) last() uint64 { return l.slotFirst + uint64(len(l.slots)) - 1 }

// broken remembers the first failure and returns it.
func (l *Log) broken(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = fmt.Errorf("the log in %s cannot be written: %w", l.dir, err)
	}
	return l.failed
}

// err is the failure that ended writing, or nil.
func (l *Log) err() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.failed
}

// Files tells how many files are open, and how many may be to be read.
func (l *Log) Files() (open, limit int) { return l.files.count(), l.files.limit }

// Usage tells what the log takes.
func (l *Log) Usage() Usage {
	l.mu.RLock()
	defer l.mu.RUnlock()
	u := Usage{First: l.base.index + 1, Last: l.last()}
	for _, s := range l.segments() {
		u.Segments++
		u.Bytes += s.size
	}
	return u
}

// segments are all there are but the prepared one. With mu.
func (l *Log) segments() []*segment {
	all := make([]*segment, 0, len(l.sealed)+len(l.full)+1)
	all = append(append(append(all, l.sealed...), l.full...), l.rolled...)
	if l.active != nil {
		all = append(all, l.active)
	}
	return all
}

// vouch syncs, and writes one more frame behind the last. It tells that the last is on disk: of a
// broken one at the very end Open could not know otherwise whether it was ever written.
func (l *Log) vouch() error {
	if l.active == nil || l.last() == 0 {
		return nil
	}
	if l.synced != l.active.end {
		if err := l.active.out.Sync(); err != nil {
			return err
		}
	}
	b, from := beginFrame(nil)
	b = endFrame(appendState(b, l.state), from, kindState, 0, l.active.salt)
	if l.active.end+int64(len(b)) > l.active.size {
		return nil // the next segment's first frame is to tell, and there is none yet
	}
	if _, err := l.active.out.WriteAt(b, l.active.end); err != nil {
		return err
	}
	return l.active.out.Sync()
}

// Close syncs what was appended and lets go of the files and the directory. No goroutine may be using the log.
func (l *Log) Close() error {
	l.maintain.Lock()
	defer l.maintain.Unlock()
	l.making.Lock()
	defer l.making.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.segments()
	if l.prepared != nil {
		all = append(all, l.prepared)
	}
	var first error
	if l.failed == nil {
		first = l.vouch()
	}
	for _, s := range all {
		if err := s.release(); err != nil && first == nil {
			first = err
		}
	}
	l.sealed, l.full, l.rolled, l.active, l.prepared = nil, nil, nil, nil, nil
	if l.failed == nil {
		l.failed = fmt.Errorf("the log in %s is closed", l.dir)
	}
	if err := l.lock.Close(); err != nil && first == nil {
		first = err
	}
	return first
}
