package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"wirelab/hermes/vfs"
)

// blockBytes is a segment's beginning: magic, form, number, generation, salt, joined (0 in form 1), crc32c.
const (
	blockBytes = 64
	blockMagic = "hermeslg"
	blockForm  = 1
	// blockJoined is the form of a segment that holds others too. It is read as the other is: a
	// program that knows of no such segments is to refuse it.
	blockJoined = 2
)

// segment is a file of frames, and next to a sealed one its index file.
type segment struct {
	number     uint64
	generation uint32 // how often it was cleaned
	salt       uint32
	name       string
	joined     uint32   // segments behind it that it holds too: their numbers are its own
	out        vfs.File // while it is written; nil: it is only read
	file       *handle
	size       int64 // allocated
	end        int64 // where the next frame goes; while active for the appending goroutine alone
	safe       int64 // while opening: to where it was on disk when its last frame was written
	start      start
	began      bool // it has its first frame
	seal            // zero before it is sealed
	refs       atomic.Int32
	unused     chan struct{} // closed when refs is 0
}

// through is the number of the last segment that it holds.
func (s *segment) through() uint64 { return s.number + uint64(s.joined) }

// fileName is the name of a segment's file, kind being "log", "index" or "snapshot".
func fileName(dir string, number uint64, generation uint32, kind string) string {
	if generation == 0 {
		return filepath.Join(dir, fmt.Sprintf("%016d.%s", number, kind))
	}
	return filepath.Join(dir, fmt.Sprintf("%016d.%d.%s", number, generation, kind))
}

// parseName is the inverse of fileName, without the directory.
func parseName(name string) (named, bool) {
	parts := strings.Split(name, ".")
	var n named
	if len(parts) == 3 {
		g, err := strconv.ParseUint(parts[1], 10, 32)
		if err != nil {
			return named{}, false
		}
		n.generation = uint32(g)
		parts = []string{parts[0], parts[2]}
	}
	if len(parts) != 2 || parts[1] != "log" && parts[1] != "index" && parts[1] != "snapshot" {
		return named{}, false
	}
	var err error
	n.kind = parts[1]
	n.number, err = strconv.ParseUint(parts[0], 10, 64)
	return n, err == nil && n.number > 0 && fileName("", n.number, n.generation, n.kind) == name
}

// create makes a file. Where there is no descriptor left, files that is not read make room.
func (l *Log) create(create func(string, int64) (vfs.File, error), name string, size int64) (vfs.File, error) {
	f, err := create(name, size)
	for vfs.Exhausted(err) && l.files.spare() {
		f, err = create(name, size)
	}
	return f, err
}

// makeSegment creates the file of a segment of which number, generation and size are set,
// with its block, by Create or Reserve. It is to be written. Its content is on disk; its name is not before SyncDir.
func (l *Log) makeSegment(create func(string, int64) (vfs.File, error), s *segment) (*segment, error) {
	s.name = fileName(l.dir, s.number, s.generation, "log")
	f, err := l.create(create, s.name, s.size)
	if err != nil {
		return nil, noRoom(err) // Create leaves no file behind
	}
	// The salt is no secret that has to last: it is to be unknown to clients that send messages.
	s.salt, s.out, s.file, s.end = rand.Uint32(), f, l.files.pin(s.name, f), blockBytes
	s.keep()
	if _, err = f.WriteAt(s.block(), 0); err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = s.release() // the first failure is the one to tell
		// A file that grows finds the disk full only here. It must go: the next try makes one of its name.
		if vfs.Full(err) && l.fs.Remove(s.name) == nil {
			err = noRoom(err)
		}
		return nil, err
	}
	return s, nil
}

func (s *segment) block() []byte {
	b := make([]byte, 0, blockBytes)
	b = append(b, blockMagic...)
	form := uint32(blockForm)
	if s.joined > 0 {
		form = blockJoined
	}
	b = binary.LittleEndian.AppendUint32(b, form)
	b = binary.LittleEndian.AppendUint64(b, s.number)
	b = binary.LittleEndian.AppendUint32(b, s.generation)
	b = binary.LittleEndian.AppendUint32(b, s.salt)
	b = binary.LittleEndian.AppendUint32(b, s.joined)
	b = append(b, make([]byte, blockBytes-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readBlock fills salt and joined in from a block, which must be of the segment's number and generation.
func (s *segment) readBlock(b []byte) error {
	if len(b) < blockBytes || crc32.Checksum(b[:blockBytes-4],
		castagnoli) != binary.LittleEndian.Uint32(b[blockBytes-4:]) || string(b[:8]) != blockMagic {
		return &Damage{File: s.name, Why: "the block at the beginning is broken"}
	}
	if form := binary.LittleEndian.Uint32(b[8:]); form != blockForm && form != blockJoined {
		return fmt.Errorf("%s has form %d, this program reads forms to %d: run the version that wrote it, or a "+
			"later one",
			s.name, form, blockJoined)
	}
	number, generation := binary.LittleEndian.Uint64(b[12:]), binary.LittleEndian.Uint32(b[20:])
	if number != s.number || generation != s.generation {
		return &Damage{File: s.name, Why: fmt.Sprintf("the file is segment %d of generation %d by its content", number,
			generation)}
	}
	s.salt, s.joined = binary.LittleEndian.Uint32(b[24:]), binary.LittleEndian.Uint32(b[28:])
	return nil
}

// openSegment finds the file, which is opened when it is read. Nothing of it is read.
func (l *Log) openSegment(number uint64, generation uint32) (*segment, error) {
	s := &segment{number: number, generation: generation, name: fileName(l.dir, number, generation, "log")}
	s.file = l.files.handle(s.name)
	s.keep()
	var err error
	s.size, err = s.file.Size()
	return s, err
}

// reopen opens the file to be written again.
func (s *segment) reopen(l *Log) error {
	if s.out != nil {
		return nil
	}
	f, err := l.fs.Open(s.name)
	if err != nil {
		return err
	}
	if err := s.file.close(); err != nil {
		return errors.Join(err, f.Close())
	}
	s.out, s.file = f, l.files.pin(s.name, f)
	return nil
}

// full tells that nothing is written to the file any more, and all of it is on disk.
func (s *segment) full() {
	s.out = nil
	s.file.unpin()
}

// keep gives the segment to its one owner.
func (s *segment) keep() {
	s.unused = make(chan struct{})
	s.refs.Store(1)
}

// acquire keeps the files until release, though the segment be dropped. With mu.
func (s *segment) acquire() { s.refs.Add(1) }

// release gives up what acquire or the owner had. The last one closes the files.
func (s *segment) release() error {
	if s.refs.Add(-1) != 0 {
		return nil
	}
	defer close(s.unused)
	err := s.file.close()
	if s.index != nil {
		if closing := s.index.close(); err == nil {
			err = closing
		}
	}
	return err
}

// retire is the owner's release before the files are removed: it waits for who reads
// them, since they may have to be opened yet.
func (s *segment) retire() error {
	err := s.release()
	<-s.unused
	return err
}

// read fills b from a place in a file that must have so much.
func read(f io.ReaderAt, name string, b []byte, at int64) error {
	n, err := f.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return &Damage{File: name, At: at + int64(n), Why: "the file ends there"}
	case err == nil:
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s cannot be read at byte %d: %w", name, at, err)
}
