package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/vfs"
)

// Two segments have two salts, so that no one who sends messages can write a frame.
func TestSalt(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMemory()
	l := &Log{fs: fs, dir: "/", files: newDescriptors(fs, openFilesMin)}
	a, err := l.makeSegment(fs.Create, &segment{number: 1, size: 4096})
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.makeSegment(fs.Create, &segment{number: 2, size: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if a.salt == b.salt {
		t.Errorf("two segments have the salt %x", a.salt)
	}
	f := appendEntry(nil, &raftpb.Entry{Index: new(uint64(1)), Data: []byte("data")}, 0, a.salt)
	if _, ok := readFrame(f, b.salt); ok {
		t.Error("a frame of one segment is one of another's")
	}
	if got, ok := readFrame(f, a.salt); !ok || got.kind != kindEntry || len(f)%alignment != 0 {
		t.Errorf("a frame reads as %+v, %v", got, ok)
	}
}

// The cache counts what it holds, and holds no more than it may.
func TestCache(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	var c cache
	last := uint64(0)
	for range 1000 {
		from := last + 1 - r.Uint64N(min(last, 5)+1)
		var entries []*raftpb.Entry
		for i := range 1 + r.Uint64N(4) {
			entries = append(entries, &raftpb.Entry{Index: new(from + i), Data: make([]byte, r.IntN(200))})
		}
		last = from + uint64(len(entries)) - 1
		c.replace(entries, 1000)
		bytes := 0
		for i, e := range c.list {
			bytes += len(e.GetData()) + entryOverhead
			if e.GetIndex() != c.list[0].GetIndex()+uint64(i) {
				t.Fatal("the cache has a gap")
			}
		}
		if bytes != c.bytes || bytes > 1000 {
			t.Fatalf("the cache holds %d bytes and says %d", bytes, c.bytes)
		}
		if n := len(c.list); n > 0 && c.list[n-1].GetIndex() != last {
			t.Fatalf("the cache ends with %d, the log with %d", c.list[n-1].GetIndex(), last)
		}
	}
}

// No bytes make the reading of frames panic, and what reads as a frame is one.
func FuzzFrame(f *testing.F) {
	f.Add(appendEntry(nil, &raftpb.Entry{Index: new(uint64(7)), Data: []byte("data")}, 9, 5))
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := readFrame(b, 5)
		if ok {
			again, from := beginFrame(nil)
			again = endFrame(append(again, got.body...), from, got.kind, got.behind, 5)
			if n := headerBytes + len(got.body); !bytes.Equal(again[:n], b[:n]) {
				t.Errorf("%x reads as a frame and writes as %x", b, again)
			}
			readEntry(got.body)
			readStart(got.body)
		}
		end, err := scan(b, 5, func(int64, frame) error { return nil })
		if err != nil {
			t.Error(err)
		}
		if err := harmless(b, end, 5); err != nil && !errors.As(err, new(*Damage)) {
			t.Error(err)
		}
	})
}

// No bytes make the reading of an index file panic.
func FuzzIndex(f *testing.F) {
	c := contents{
		number: 3, salt: 1, end: 100, first: 5, last: 6, snapIndex: 7, terms: []termFrom{{5, 1}}, state: emptyState(),
		conf: &raftpb.ConfState{Voters: []uint64{1}}, places: []place{{1, 2}, {3, 4}}, ahead: []ahead{{4, 1, run{}}},
		snapshot: []byte("state"),
	}
	c.add(1, []run{{offset: 4, count: 2, bytes: 9}, {offset: 6, count: 1}})
	whole, err := c.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		// The checksum is made right: everything behind it is to be tried.
		if len(b) > 4 {
			b = sealSum(b)
		}
		got, err := decode("index", b)
		if err != nil {
			return
		}
		again, err := got.encode()
		if err != nil || len(again) != len(b) && got.confBytes == c.confBytes {
			t.Errorf("%x reads and writes as %x, %v", b, again, err)
		}
	})
}

func sealSum(b []byte) []byte {
	b = bytes.Clone(b)
	return binary.LittleEndian.AppendUint32(b[:len(b)-4], crc32.Checksum(b[:len(b)-4], castagnoli))
}
