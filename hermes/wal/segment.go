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

// blockBytes is a segment's beginning: magic, form, number, generation, salt, crc32c.
const (
	blockBytes = 64
	blockMagic = "hermeslg"
	blockForm  = 1
)

// segment is a file of frames, and beside a sealed one its index file.
type segment struct {
	number     uint64
	generation uint32 // how often it was cleaned
	salt       uint32
	name       string
	file       vfs.File
	size       int64 // allocated
	end        int64 // where the next frame goes; while active for the appending goroutine alone
	safe       int64 // while opening: to where it was on disk when its last frame was written
	start      start
	began      bool // it has its first frame
	seal            // zero before it is sealed
	refs       atomic.Int32
}

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

// makeSegment creates a segment's file of size bytes, with its block, by Create or
// Reserve. Its content is on disk; its name is not before SyncDir.
func makeSegment(fs vfs.FS, create func(string, int64) (vfs.File, error), dir string, number uint64, generation uint32, size int64) (*segment, error) {
	name := fileName(dir, number, generation, "log")
	f, err := create(name, size)
	if err != nil {
		return nil, noRoom(err) // Create leaves no file behind
	}
	// The salt is no secret that has to last: it is to be unknown to whoever sends messages.
	s := &segment{number: number, generation: generation, salt: rand.Uint32(), name: name, file: f, size: size, end: blockBytes}
	s.refs.Store(1)
	if _, err = f.WriteAt(s.block(), 0); err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Close() // the first failure is the one to tell
		// A file that grows finds the disk full only here. It must go: the next try makes one of its name.
		if vfs.Full(err) && fs.Remove(name) == nil {
			err = noRoom(err)
		}
		return nil, err
	}
	return s, nil
}

func (s *segment) block() []byte {
	b := make([]byte, 0, blockBytes)
	b = append(b, blockMagic...)
	b = binary.LittleEndian.AppendUint32(b, blockForm)
	b = binary.LittleEndian.AppendUint64(b, s.number)
	b = binary.LittleEndian.AppendUint32(b, s.generation)
	b = binary.LittleEndian.AppendUint32(b, s.salt)
	b = append(b, make([]byte, blockBytes-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readBlock fills number, generation and salt in from a block.
func (s *segment) readBlock(b []byte) error {
	if len(b) < blockBytes || crc32.Checksum(b[:blockBytes-4], castagnoli) != binary.LittleEndian.Uint32(b[blockBytes-4:]) || string(b[:8]) != blockMagic {
		return &Damage{File: s.name, Why: "the block at the beginning is broken"}
	}
	if form := binary.LittleEndian.Uint32(b[8:]); form != blockForm {
		return fmt.Errorf("%s has form %d, this program reads form %d: run the version that wrote it, or a later one", s.name, form, blockForm)
	}
	number, generation := binary.LittleEndian.Uint64(b[12:]), binary.LittleEndian.Uint32(b[20:])
	if number != s.number || generation != s.generation {
		return &Damage{File: s.name, Why: fmt.Sprintf("the file is segment %d of generation %d by its content", number, generation)}
	}
	s.salt = binary.LittleEndian.Uint32(b[24:])
	return nil
}

// openSegment opens the file. Nothing of it is read.
func openSegment(fs vfs.FS, dir string, number uint64, generation uint32) (*segment, error) {
	s := &segment{number: number, generation: generation, name: fileName(dir, number, generation, "log")}
	s.refs.Store(1)
	var err error
	if s.file, err = fs.Open(s.name); err != nil {
		return nil, err
	}
	if s.size, err = s.file.Size(); err != nil {
		_ = s.file.Close() // the first failure is the one to tell
		return nil, err
	}
	return s, nil
}

// acquire keeps the files open until release, though the segment be dropped. With mu.
func (s *segment) acquire() { s.refs.Add(1) }

func (s *segment) release() error {
	if s.refs.Add(-1) != 0 {
		return nil
	}
	err := s.file.Close()
	if s.index != nil {
		if closing := s.index.Close(); err == nil {
			err = closing
		}
	}
	return err
}

// read fills b from a place in a file that must have so much.
func read(f vfs.File, name string, b []byte, at int64) error {
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
