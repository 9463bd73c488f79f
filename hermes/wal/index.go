package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/vfs"
)

// run is where messages of one topic are in a segment.
type run struct {
	offset uint64 // of the first
	time   int64
	at     uint32 // where the messages begin in the segment
	bytes  uint32
	count  uint32
	sum    uint32 // crc32c of the messages: a run is read without the frame around it
}

// next is the offset after the run.
func (r run) next() uint64 { return r.offset + uint64(r.count) }

// seal is the known state of a sealed segment without reading its index file.
type seal struct {
	index     *handle
	indexName string
	first     uint64 // of the entries in it that count; last+1 when there are none
	last      uint64
	snapIndex uint64 // last, or later
	entriesAt int64  // in the index file: places
	runsAt    int64  // in the index file: runs, by topic and then offset
	runBytes  int64  // of messages
}

// through is the number of the last segment that this one holds.
func (c *contents) through() uint64 { return c.number + uint64(c.joined) }

// contents are an index file's.
type contents struct {
	number     uint64
	generation uint32
	salt       uint32
	end        int64
	original   int64  // end, before the segment was cleaned: the next one tells it too
	joined     uint32 // segment.joined
	first      uint64
	last       uint64
	snapIndex  uint64
	snapTerm   uint64
	state      *raftpb.HardState // its commit index is snapIndex: later entries may not be on disk
	terms      []termFrom
	conf       *raftpb.ConfState
	topics     []directory
	ahead      []ahead
	places     []place
	runs       []run
	snapshot   []byte

	form      uint32 // of the file; encode writes the newest
	confBytes int    // as encoded
}

// layout is where the parts of the file are, once it was encoded or decoded.
func (c *contents) layout() offsets {
	o, _ := layout(c.form, uint32(len(c.terms)), uint32(c.confBytes), uint32(len(c.topics)), uint32(len(c.ahead)),
		uint32(len(c.places)), uint32(len(c.runs)), uint64(len(c.snapshot)))
	return o
}

// directory is one topic's part of the runs.
type directory struct {
	topic        uint32
	start, count uint32
	first, next  uint64 // offsets
	bytes        uint64
}

// ahead is a run of a later segment that the snapshot is after.
type ahead struct {
	segment uint64
	topic   uint32
	run     run
}

// place is an entry's frame: where it begins, and its body's bytes.
type place struct{ at, size uint32 }

// The form of an index file: header, terms, conf, topics, ahead, places, runs, snapshot, crc32c of all that.
// Integers are little-endian. Places and runs are read one by one long after the file was checked as a whole. A
// place is checked by the frame it leads to, which has the entry's index and term. A run has its own checksum:
// the frame around its messages does not tell their offset. Form 1 had none; Open writes such a file anew.
const (
	indexMagic  = "hermesix"
	indexForm   = 2
	indexHeader = 112 + stateBytes
	termBytes   = 16
	topicBytes  = 40
	plainBytes  = 32 // of a run without its checksum
	runBytes    = plainBytes + 4
	aheadBytes  = 16 + plainBytes
	placeBytes  = 8
)

// runWidth is the bytes of a run in a file of that form.
func runWidth(form uint32) int64 {
	if form == 1 {
		return plainBytes
	}
	return runBytes
}

// recordSum is the checksum of a run's record. It covers where the record is: that of another
// position, or of another segment's file, is as wrong as one with a bit changed.
func recordSum(salt, position uint32, record []byte) uint32 {
	return crc32.Update(salt^position*0x9e3779b1, castagnoli, record[:plainBytes])
}

func (c *contents) encode() ([]byte, error) {
	conf, err := proto.Marshal(c.conf)
	if err != nil {
		return nil, fmt.Errorf("the members: %w", err)
	}
	c.form, c.confBytes = indexForm, len(conf)
	le := binary.LittleEndian
	b := make([]byte, 0, indexHeader+len(c.terms)*termBytes+len(conf)+len(c.topics)*topicBytes+len(c.ahead)*aheadBytes+
		len(c.places)*placeBytes+len(c.runs)*runBytes+len(c.snapshot)+4)
	b = append(b, indexMagic...)
	b = le.AppendUint32(b, indexForm)
	b = le.AppendUint32(b, c.generation)
	b = le.AppendUint64(b, c.number)
	b = le.AppendUint32(le.AppendUint32(b, c.salt), c.joined)
	for _, v := range []uint64{
		uint64(c.end), c.first, c.last, c.snapIndex, c.snapTerm, uint64(len(c.snapshot)),
		uint64(c.original),
	} {
		b = le.AppendUint64(b, v)
	}
	for _, n := range []int{len(c.terms), len(conf), len(c.topics), len(c.ahead), len(c.places), len(c.runs)} {
		b = le.AppendUint32(b, uint32(n))
	}
	b = appendState(b, c.state)
	for _, t := range c.terms {
		b = le.AppendUint64(le.AppendUint64(b, t.index), t.term)
	}
	b = append(b, conf...)
	for _, d := range c.topics {
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(le.AppendUint32(b, d.topic), d.start), d.count), 0)
		b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, d.first), d.next), d.bytes)
	}
	for _, a := range c.ahead {
		b = le.AppendUint64(le.AppendUint64(b, a.segment), uint64(a.topic))
		b = appendRun(b, a.run)
	}
	for _, p := range c.places {
		b = le.AppendUint32(le.AppendUint32(b, p.at), p.size)
	}
	for i, r := range c.runs {
		from := len(b)
		b = appendRun(b, r)
		b = le.AppendUint32(b, recordSum(c.salt, uint32(i), b[from:]))
	}
	b = append(b, c.snapshot...)
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

func appendRun(b []byte, r run) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(le.AppendUint64(b, r.offset), uint64(r.time))
	return le.AppendUint32(le.AppendUint32(le.AppendUint32(le.AppendUint32(b, r.at), r.bytes), r.count), r.sum)
}

func readRun(b []byte) run {
	le := binary.LittleEndian
	return run{
		offset: le.Uint64(b), time: int64(le.Uint64(b[8:])),
		at: le.Uint32(b[16:]), bytes: le.Uint32(b[20:]), count: le.Uint32(b[24:]), sum: le.Uint32(b[28:]),
	}
}

// offsets are where an index file's parts begin.
type offsets struct {
	conf, topics, ahead, places, runs, snapshot, sum int64
}

func layout(form, terms, conf, topics, aheads, places, runs uint32, snapshot uint64) (o offsets, ok bool) {
	if snapshot > 1<<40 {
		return o, false
	}
	o.conf = indexHeader + int64(terms)*termBytes
	o.topics = o.conf + int64(conf)
	o.ahead = o.topics + int64(topics)*topicBytes
	o.places = o.ahead + int64(aheads)*aheadBytes
	o.runs = o.places + int64(places)*placeBytes
	o.snapshot = o.runs + int64(runs)*runWidth(form)
	o.sum = o.snapshot + int64(snapshot)
	return o, true
}

// decode reads an index file. The snapshot is b's. name is for the error.
func decode(name string, b []byte) (*contents, error) {
	bad := func(why string) (*contents, error) {
		return nil, &Damage{File: name, Why: why}
	}
	le := binary.LittleEndian
	if len(b) < indexHeader+4 || string(b[:8]) != indexMagic {
		return bad("it is no index file")
	}
	form := le.Uint32(b[8:])
	if form != 1 && form != indexForm {
		if crc32.Checksum(b[:len(b)-4], castagnoli) != le.Uint32(b[len(b)-4:]) {
			return bad("its checksum is wrong")
		}
		return nil, fmt.Errorf("%s has form %d, this program reads forms 1 to %d: run the version that wrote it, or a "+
			"later one", name, form, indexForm)
	}
	if crc32.Checksum(b[:len(b)-4], castagnoli) != le.Uint32(b[len(b)-4:]) {
		return bad("its checksum is wrong")
	}
	u64 := func(i int) uint64 { return le.Uint64(b[32+8*i:]) }
	u32 := func(i int) uint32 { return le.Uint32(b[88+4*i:]) }
	o, ok := layout(form, u32(0), u32(1), u32(2), u32(3), u32(4), u32(5), u64(5))
	if !ok || o.sum+4 != int64(len(b)) {
		return bad("its parts do not fill it")
	}
	c := &contents{
		form: form, generation: le.Uint32(b[12:]), number: le.Uint64(b[16:]), salt: le.Uint32(b[24:]),
		joined: le.Uint32(b[28:]),
		end:    int64(u64(0)), original: int64(u64(6)), first: u64(1), last: u64(2), snapIndex: u64(3),
		snapTerm: u64(4),
		state:    readState(b[112:]), conf: &raftpb.ConfState{}, snapshot: b[o.snapshot:o.sum:o.sum],
		confBytes: int(o.topics - o.conf),
	}
	if err := proto.Unmarshal(b[o.conf:o.topics], c.conf); err != nil {
		return bad("its members cannot be read")
	}
	for at := int64(indexHeader); at < o.conf; at += termBytes {
		c.terms = append(c.terms, termFrom{le.Uint64(b[at:]), le.Uint64(b[at+8:])})
	}
	for at := o.topics; at < o.ahead; at += topicBytes {
		d := directory{
			topic: le.Uint32(b[at:]), start: le.Uint32(b[at+4:]), count: le.Uint32(b[at+8:]),
			first: le.Uint64(b[at+16:]), next: le.Uint64(b[at+24:]), bytes: le.Uint64(b[at+32:]),
		}
		if d.count == 0 || uint64(d.start)+uint64(d.count) > uint64(u32(5)) {
			return bad("a topic's runs are not in it")
		}
		c.topics = append(c.topics, d)
	}
	for at := o.ahead; at < o.places; at += aheadBytes {
		c.ahead = append(c.ahead, ahead{le.Uint64(b[at:]), uint32(le.Uint64(b[at+8:])), readRun(b[at+16:])})
	}
	for at := o.places; at < o.runs; at += placeBytes {
		c.places = append(c.places, readPlace(b[at:]))
	}
	for at := o.runs; at < o.snapshot; at += runWidth(form) {
		c.runs = append(c.runs, readRun(b[at:]))
	}
	if c.last+1 != c.first+uint64(len(c.places)) || c.snapIndex < c.last {
		return bad("its entries are not as many as their indices say")
	}
	return c, nil
}

func readPlace(b []byte) place {
	return place{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])}
}

// indexFile is the content of an open file, or of one that is opened to be read.
type indexFile interface {
	io.ReaderAt
	Size() (int64, error)
}

// readIndex reads a whole index file.
func readIndex(f indexFile, name string) (*contents, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if err := read(f, name, b, 0); err != nil {
		return nil, err
	}
	return decode(name, b)
}

// writeIndex makes an index file under its name, whole or not at all; kind is
// "index" or "snapshot". Its name is on disk after the next SyncDir.
func (l *Log) writeIndex(c *contents, kind string) (*handle, string, error) {
	b, err := c.encode()
	if err != nil {
		return nil, "", err
	}
	name := fileName(l.dir, c.number, c.generation, kind)
	f, err := l.create(l.fs.Create, name+".tmp", 0)
	if err != nil {
		return nil, "", noRoom(err)
	}
	if _, err = f.WriteAt(b, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.fs.Rename(name+".tmp", name)
	}
	if err != nil {
		_ = f.Close() // the first failure is the one to tell
		if vfs.Full(err) && l.fs.Remove(name+".tmp") == nil {
			err = noRoom(err)
		}
		return nil, "", err
	}
	_ = f.Close() // it is on disk
	return l.files.handle(name), name, nil
}

// adopt makes s the sealed segment of an index file. With mu, or while opening.
func (s *segment) adopt(f *handle, name string, c *contents) {
	o := c.layout()
	s.end, s.joined = c.end, c.joined
	s.seal = seal{
		index: f, indexName: name, first: c.first, last: c.last, snapIndex: c.snapIndex,
		entriesAt: o.places, runsAt: o.runs,
	}
	for _, d := range c.topics {
		s.runBytes += int64(d.bytes)
	}
}
