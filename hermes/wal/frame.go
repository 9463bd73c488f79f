package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/raft/v3/raftpb"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// kind is what a frame holds. 0 is none, so that a header is never all zeros.
type kind byte

const (
	kindEntry kind = 1 + iota
	kindState
	kindStart // the first of every segment
)

const (
	headerBytes = 16
	alignment   = 8 // of frames
	entryBytes  = 17
	bodyLimit   = 1 << 30
)

// frameBytes is what a frame with such a body takes.
func frameBytes(body int) int {
	return (headerBytes + body + alignment - 1) &^ (alignment - 1)
}

// beginFrame leaves room for a header; endFrame fills it in, where the body is
// what was appended since. behind is how many bytes before the frame are not known to be on disk.
func beginFrame(dst []byte) ([]byte, int) {
	return append(dst, make([]byte, headerBytes)...), len(dst)
}

func endFrame(dst []byte, from int, k kind, behind int64, salt uint32) []byte {
	h := dst[from : from+headerBytes]
	binary.LittleEndian.PutUint32(h[0:], uint32(len(dst)-from-headerBytes))
	binary.LittleEndian.PutUint32(h[8:], uint32(behind))
	binary.LittleEndian.PutUint32(h[4:], uint32(k)|headerSum(h, k, salt)<<8)
	binary.LittleEndian.PutUint32(h[12:], bodySum(h, dst[from+headerBytes:], salt))
	for len(dst)%alignment != from%alignment {
		dst = append(dst, 0)
	}
	return dst
}

// headerSum is 24 bits that let a search for frames pass over nearly everything
// that is none without reading what its length would be.
func headerSum(h []byte, k kind, salt uint32) uint32 {
	var b [9]byte
	copy(b[0:4], h[0:4])
	b[4] = byte(k)
	copy(b[5:9], h[8:12])
	return crc32.Update(salt, castagnoli, b[:]) >> 8
}

func bodySum(h, body []byte, salt uint32) uint32 {
	return crc32.Update(crc32.Update(salt, castagnoli, h[:12]), castagnoli, body)
}

// frame is a whole one.
type frame struct {
	kind   kind
	behind int64
	body   []byte
}

// readFrame reads the frame at the beginning of b. ok is false when there is no whole one.
func readFrame(b []byte, salt uint32) (f frame, ok bool) {
	if len(b) < headerBytes {
		return frame{}, false
	}
	length, word := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	k := kind(word)
	if word>>8 != headerSum(b, k, salt) || k == 0 || length > bodyLimit || int(length) > len(b)-headerBytes {
		return frame{}, false
	}
	body := b[headerBytes : headerBytes+int(length) : headerBytes+int(length)]
	if bodySum(b[:headerBytes], body, salt) != binary.LittleEndian.Uint32(b[12:]) {
		return frame{}, false
	}
	return frame{kind: k, behind: int64(binary.LittleEndian.Uint32(b[8:])), body: body}, true
}

// scan walks the frames of a segment's bytes from its block on. It returns where the
// last whole frame of the chain ends.
func scan(b []byte, salt uint32, visit func(at int64, f frame) error) (end int64, err error) {
	at := int64(blockBytes)
	for at < int64(len(b)) {
		f, ok := readFrame(b[at:], salt)
		if !ok {
			break
		}
		if err := visit(at, f); err != nil {
			return at, err
		}
		at += int64(frameBytes(len(f.body)))
	}
	return min(at, int64(len(b))), nil
}

// harmless tells whether what follows the end of a chain was never synced, as far as
// the frames in it tell: err is a Damage without a file's name.
func harmless(b []byte, end int64, salt uint32) error {
	for at := end; at < int64(len(b)); at += alignment {
		if zero(b[at:min(at+alignment, int64(len(b)))]) {
			continue
		}
		if f, ok := readFrame(b[at:], salt); ok && at-f.behind > end {
			return &Damage{
				At: end,
				Why: fmt.Sprintf("no whole frame is there, and the frame at byte %d was written when all "+
					"up to byte %d was on disk", at, at-f.behind),
			}
		}
	}
	return nil
}

func zero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// appendEntry writes an entry's frame.
func appendEntry(dst []byte, e *raftpb.Entry, behind int64, salt uint32) []byte {
	dst, from := beginFrame(dst)
	dst = binary.LittleEndian.AppendUint64(dst, e.GetIndex())
	dst = binary.LittleEndian.AppendUint64(dst, e.GetTerm())
	dst = append(append(dst, byte(e.GetType())), e.GetData()...)
	return endFrame(dst, from, kindEntry, behind, salt)
}

// readEntry reads an entry's body. Its data are the body's.
func readEntry(body []byte) (*raftpb.Entry, bool) {
	if len(body) < entryBytes {
		return nil, false
	}
	t := raftpb.EntryType(body[16])
	e := &raftpb.Entry{
		Index: new(binary.LittleEndian.Uint64(body)),
		Term:  new(binary.LittleEndian.Uint64(body[8:])),
		Type:  &t,
	}
	if len(body) > entryBytes {
		e.Data = body[entryBytes:]
	}
	return e, true
}

const stateBytes = 24

func appendState(dst []byte, s *raftpb.HardState) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, s.GetTerm())
	dst = binary.LittleEndian.AppendUint64(dst, s.GetVote())
	return binary.LittleEndian.AppendUint64(dst, s.GetCommit())
}

func readState(b []byte) *raftpb.HardState {
	return &raftpb.HardState{
		Term:   new(binary.LittleEndian.Uint64(b)),
		Vote:   new(binary.LittleEndian.Uint64(b[8:])),
		Commit: new(binary.LittleEndian.Uint64(b[16:])),
	}
}

// start is a segment's first frame: the state known without the segments before.
type start struct {
	before    uint64 // the number of the segment before; 0: none
	end       int64  // where its frames end
	installed bool   // a snapshot stands for all before
	state     *raftpb.HardState
}

const startBytes = 17 + stateBytes

func (s start) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, s.before)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.end))
	flag := byte(0)
	if s.installed {
		flag = 1
	}
	return appendState(append(dst, flag), s.state)
}

func readStart(b []byte) (s start, ok bool) {
	if len(b) != startBytes {
		return start{}, false
	}
	return start{
		before:    binary.LittleEndian.Uint64(b),
		end:       int64(binary.LittleEndian.Uint64(b[8:])),
		installed: b[16] == 1,
		state:     readState(b[17:]),
	}, true
}
