// Package record encodes and parses the bytes of the log: the data of one Raft entry.
// It knows no disk, no Raft and no state.
//
// # Form, version 1
//
//	entry   = version(1 byte, 0x01) time(uvarint: Unix ns) item*
//	item    = 0x01 run | 0x02 command
//	run     = topic(uvarint id) flags(1 byte) producer(uvarint) sequence(uvarint)
//	          [time(uvarint: Unix ns)] count(uvarint) length(uvarint) messages(length bytes)
//	command = length(uvarint) bytes(protobuf hermes.log.v1.Command)
//
// messages is the wire form of `repeated Message messages = 2` of hermes.proto: for each message the byte 0x12,
// its length and its bytes. Flag 0x01 marks a run that was cleaned: its messages are gone and nothing follows
// the length, but count and length still count. A node that applies the cleaned run must come to the same
// state, bytes of the topic included, as one that applied it when it was whole. Flag 0x02 marks a run that a
// restore brings back: it has its own time, its producer is the restore, and its sequence is the offset that
// its first message must get. A program that does not know the flag refuses the entry, which is what it must
// do: it would give the messages another time.
//
// An entry has no checksum, because the frame around it has one. So an error of Parse
// means a fault in a program, or a later version of the form, and not a damaged disk.
package record

import (
	"encoding/binary"
	"iter"
	"math"

	"wirelab/wire/status"
)

// Version is the form this package writes; others are refused by their number.
const Version = 1

// The first bytes of items, and the flags of a run.
const (
	kindRun     = 0x01
	kindCommand = 0x02
	flagCleaned = 0x01
	flagOld     = 0x02
)

// Run is messages of one topic that are stored together, under consecutive offsets.
type Run struct {
	Topic    uint32 // 1 and up
	Producer uint64 // 0: of no producer; of an Old run the restore
	Sequence uint64 // of an Old run the offset of its first message
	Old      bool   // brought back by a restore, with the Time it had
	Time     int64  // Unix nanoseconds, of an Old run only; another has its entry's
	Count    uint32 // 1 and up; said by the writer the run, after Check
	Messages []byte
	Cleaned  bool // write or read without its messages
	// Size is how many bytes Messages has, or had before it was cleaned; Parse sets
	// it. AppendRun needs it only where Cleaned is set and Messages is gone already.
	Size int
	// At is where Messages begins in the entry's data; Parse sets it.
	At int
}

// Item is a run, or a command's bytes.
type Item struct {
	Run     Run
	Command []byte // nil: it is a run
}

// AppendEntry begins an entry of a time, which is Unix nanoseconds and not
// negative. Items follow by AppendRun and AppendCommand. Items may also be written
// into a slice of their own first and put behind many a beginning, since nothing in
// them depends on where they are.
func AppendEntry(dst []byte, time int64) []byte {
	return binary.AppendUvarint(append(dst, Version), uint64(max(time, 0)))
}

// AppendRun adds a run. Of one that is Cleaned the messages are left away: to clean
// what Parse read, set Cleaned and write it.
func AppendRun(dst []byte, r Run) []byte {
	flags, size, messages := byte(0), len(r.Messages), r.Messages
	if r.Cleaned {
		flags, size, messages = flagCleaned, max(r.Size, len(r.Messages)), nil
	}
	if r.Old {
		flags |= flagOld
	}
	dst = binary.AppendUvarint(append(dst, kindRun), uint64(r.Topic))
	dst = binary.AppendUvarint(append(dst, flags), r.Producer)
	dst = binary.AppendUvarint(dst, r.Sequence)
	if r.Old {
		dst = binary.AppendUvarint(dst, uint64(max(r.Time, 0)))
	}
	dst = binary.AppendUvarint(dst, uint64(r.Count))
	dst = binary.AppendUvarint(dst, uint64(size))
	return append(dst, messages...)
}

// AppendCommand adds a command.
func AppendCommand(dst []byte, command []byte) []byte {
	dst = binary.AppendUvarint(append(dst, kindCommand), uint64(len(command)))
	return append(dst, command...)
}

// Parse reads an entry. Nothing is copied. The error of a malformed entry comes
// last and says where it is wrong; the items before it are whole. No data at all,
// which is a new leader's first entry, is no items at time 0. Errors are Internal,
// or Unimplemented for another version.
func Parse(data []byte) (time int64, items iter.Seq2[Item, error], err error) {
	if len(data) == 0 {
		return 0, func(func(Item, error) bool) {}, nil
	}
	if data[0] != Version {
		return 0, nil, status.Errorf(status.Unimplemented,
			"the log has an entry of form %d and this program reads form %d: run the version that wrote it, or a "+
				"later one",
			data[0], Version)
	}
	c := cursor{data: data, at: 1}
	ns := c.uvarint("time", math.MaxInt64)
	if c.wrong != "" {
		return 0, nil, c.err()
	}
	start := c.at
	return int64(ns), func(yield func(Item, error) bool) {
		c := cursor{data: data, at: start}
		for c.at < len(data) {
			item := c.item()
			if c.wrong != "" {
				yield(Item{}, c.err())
				return
			}
			if !yield(item, nil) {
				return
			}
		}
	}, nil
}

// cursor reads an entry from at on. The first thing that is wrong stays, and each read behind it is zero.
type cursor struct {
	data  []byte
	at    int
	wrong string // "": nothing
}

func (c *cursor) err() error {
	return status.Errorf(status.Internal, "a log entry of %d bytes is malformed at byte %d: its %s is wrong",
		len(c.data), c.at, c.wrong)
}

func (c *cursor) item() Item {
	switch kind := c.byte("kind of item"); kind {
	case kindRun:
		return Item{Run: c.run()}
	case kindCommand:
		// Never nil, even when it is empty: data is not.
		return Item{Command: c.take("command", c.uvarint("command", math.MaxInt32))}
	}
	c.fail("kind of item")
	return Item{}
}

func (c *cursor) run() (r Run) {
	r.Topic = uint32(c.uvarint("topic", math.MaxUint32))
	flags := c.byte("flags")
	if flags&^(flagCleaned|flagOld) != 0 {
		c.fail("flags")
	}
	r.Cleaned, r.Old = flags&flagCleaned != 0, flags&flagOld != 0
	r.Producer = c.uvarint("producer", math.MaxUint64)
	r.Sequence = c.uvarint("sequence", math.MaxUint64)
	if r.Old {
		r.Time = int64(c.uvarint("time", math.MaxInt64))
	}
	r.Count = uint32(c.uvarint("count", math.MaxUint32))
	size := c.uvarint("messages", math.MaxInt32)
	if !r.Cleaned {
		r.Messages = c.take("messages", size)
	}
	r.Size, r.At = int(size), c.at-len(r.Messages)
	switch {
	case r.Count == 0:
		c.fail("count")
	case size < 2*uint64(r.Count): // each takes two bytes at least
		c.fail("messages")
	}
	return r
}

func (c *cursor) fail(what string) {
	if c.wrong == "" {
		c.wrong = what
	}
}

func (c *cursor) byte(what string) byte {
	if c.wrong != "" || c.at >= len(c.data) {
		c.fail(what)
		return 0
	}
	c.at++
	return c.data[c.at-1]
}

func (c *cursor) uvarint(what string, most uint64) uint64 {
	if c.wrong != "" {
		return 0
	}
	v, n := binary.Uvarint(c.data[c.at:])
	if n <= 0 || v > most {
		c.fail(what)
		return 0
	}
	c.at += n
	return v
}

// take reads that many bytes, the capacity cut so that no one appends into what follows.
func (c *cursor) take(what string, n uint64) []byte {
	if c.wrong != "" || n > uint64(len(c.data)-c.at) {
		c.fail(what)
		return nil
	}
	end := c.at + int(n)
	b := c.data[c.at:end:end]
	c.at = end
	return b
}
