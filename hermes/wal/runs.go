package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sort"

	"wirelab/hermes/broker"
	"wirelab/hermes/record"
)

// topic is where a topic's messages are: in sealed segments by spans, whose runs are
// on disk, and behind them the runs of the segments that are not sealed.
// Invariant: offsets rise through spans and then open.
type topic struct {
	spans []span
	open  []openRun
}

// span is a topic's part of a sealed segment.
type span struct {
	segment *segment
	directory
}

type openRun struct {
	run
	segment *segment
	index   uint64 // of its entry
}

// Applied tells that an entry was applied and what runs of it are messages, from
// when on Read finds them. Entries are reported in order, those without runs too. An error is a
// placement outside the entry, a mistake of the caller, or a failed read of the entry.
func (l *Log) Applied(index uint64, placed []Placed) error {
	l.mu.RLock()
	e, ok := l.cache.get(index), index >= l.slotFirst && index <= l.last()
	l.mu.RUnlock()
	if !ok {
		return fmt.Errorf("entry %d is said to be applied and is not in the log's open segments", index)
	}
	var data []byte
	if e != nil {
		data = e.GetData()
	} else if len(placed) > 0 {
		found, err := l.Entries(index, index+1, 0)
		if err != nil {
			return err
		}
		data = found[0].GetData()
	}
	return l.place(index, data, placed)
}

// place adds runs of an entry whose data are at hand.
func (l *Log) place(index uint64, data []byte, placed []Placed) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	slot := l.slots[index-l.slotFirst]
	for _, p := range placed {
		if p.Bytes == 0 {
			continue
		}
		if p.At < 0 || p.Bytes < 0 || p.At+p.Bytes > len(data) {
			return fmt.Errorf("entry %d of %d bytes has no %d bytes at %d", index, len(data), p.Bytes, p.At)
		}
		l.add(p.Topic, openRun{run{
			offset: p.Offset, time: p.Time, count: p.Count,
			at: slot.at + headerBytes + entryBytes + uint32(p.At), bytes: uint32(p.Bytes),
			sum: crc32.Checksum(data[p.At:p.At+p.Bytes], castagnoli),
		}, slot.segment, index})
	}
	l.applied = index
	return nil
}

// add puts a run behind all of its topic. With mu.
func (l *Log) add(id uint32, r openRun) {
	t := l.topics[id]
	if t == nil {
		t = &topic{}
		l.topics[id] = t
	}
	t.open = append(t.open, r)
}

// Reading goes in steps of one segment's runs.
const (
	readGap   = 8 << 10 // bytes between two runs that are read in one go
	runsBlock = 128     // runs that are read from an index file at once
)

// Read gives the messages of a topic from an offset on, at most limit bytes and at
// least one run if there is one, oldest first; runs that are near each other are
// read in one go. before is the offset to stop at. Offsets whose messages are gone are passed
// over. The first batch begins at offset itself, though its run began earlier.
func (l *Log) Read(id uint32, offset, before uint64, limit int) ([]broker.Batch, error) {
	var batches []broker.Batch
	for total := 0; offset < before && (len(batches) == 0 || total < limit); {
		s, runs, err := l.find(id, offset, before, limit-total, len(batches) == 0)
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 {
			break
		}
		found, err := s.messages(runs)
		_ = s.release() // a file that was only read
		if err != nil {
			return nil, err
		}
		for i, messages := range found {
			total += len(messages)
			batches = append(batches, crop(runs[i], messages, offset, before))
		}
		offset = runs[len(runs)-1].next()
	}
	return batches, nil
}

// Lowest is the first offset of a topic whose messages are in the log; false: it has none.
func (l *Log) Lowest(id uint32) (offset uint64, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch t := l.topics[id]; {
	case t == nil:
		return 0, false
	case len(t.spans) > 0:
		return t.spans[0].first, true
	case len(t.open) > 0:
		return t.open[0].offset, true
	}
	return 0, false
}

// crop leaves of a run the messages in [offset, before).
func crop(r run, messages []byte, offset, before uint64) broker.Batch {
	b := broker.Batch{Offset: r.offset, Count: int(r.count), Time: r.time, Attempt: 1, Messages: messages}
	if skip := int(max(offset, r.offset) - r.offset); skip > 0 {
		b.Messages = record.Skip(b.Messages, skip)
		b.Offset, b.Count = b.Offset+uint64(skip), b.Count-skip
	}
	if next := r.next(); next > before {
		b.Count -= int(next - before)
		b.Messages = b.Messages[:len(b.Messages)-len(record.Skip(b.Messages, b.Count))]
	}
	return b
}

// find gives runs of one segment, from the one on that has offset or is next behind
// it, up to limit bytes; must: one at least. The segment is acquired when there are any.
func (l *Log) find(id uint32, offset, before uint64, limit int, must bool) (*segment, []run, error) {
	l.mu.RLock()
	t := l.topics[id]
	if t == nil {
		l.mu.RUnlock()
		return nil, nil, nil
	}
	if i := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].next > offset }); i < len(t.spans) {
		sp := t.spans[i]
		sp.segment.acquire()
		l.mu.RUnlock()
		runs, err := sp.find(offset, before, limit, must)
		if err != nil || len(runs) == 0 {
			_ = sp.segment.release() // a file that was only read
			return nil, nil, err
		}
		return sp.segment, runs, nil
	}
	defer l.mu.RUnlock()
	i := sort.Search(len(t.open), func(i int) bool { return t.open[i].next() > offset })
	var runs []run
	for total := 0; i < len(t.open); i++ {
		r := t.open[i]
		total += int(r.bytes)
		if r.offset >= before || len(runs) > 0 && r.segment != t.open[i-1].segment || total > limit &&
			(!must || len(runs) > 0) {
			break
		}
		runs = append(runs, r.run)
	}
	if len(runs) == 0 {
		return nil, nil, nil
	}
	s := t.open[i-1].segment
	s.acquire()
	return s, runs, nil
}

// find is Log.find in the index file.
func (sp span) find(offset, before uint64, limit int, must bool) ([]run, error) {
	n, err := sp.search(func(r run) bool { return r.next() > offset })
	if err != nil {
		return nil, err
	}
	var runs []run
	buf := make([]byte, min(runsBlock, int(sp.count)-n)*runBytes)
	for total := 0; n < int(sp.count); {
		count := min(runsBlock, int(sp.count)-n)
		had := len(runs)
		if runs, err = sp.appendRuns(runs, buf, n, count); err != nil {
			return nil, err
		}
		for i, r := range runs[had:] {
			total += int(r.bytes)
			if r.offset >= before || total > limit && (!must || had+i > 0) {
				return runs[:had+i], nil
			}
		}
		n += count
	}
	return runs, nil
}

// search is the number of the first run of which is is true; it is so for all after.
func (sp span) search(is func(run) bool) (int, error) {
	var failed error
	buf, one := make([]byte, runBytes), make([]run, 0, 1)
	n := sort.Search(int(sp.count), func(i int) bool {
		if failed != nil {
			return true
		}
		r, err := sp.appendRuns(one, buf, i, 1)
		if err != nil {
			failed = err
			return true
		}
		return is(r[0])
	})
	return n, failed
}

// runs reads runs of the index file.
func (sp span) runs(from, count int) ([]run, error) {
	return sp.appendRuns(make([]run, 0, count), make([]byte, count*runBytes), from, count)
}

// appendRuns is runs, with room for the records to be read into.
func (sp span) appendRuns(runs []run, buf []byte, from, count int) ([]run, error) {
	s := sp.segment
	b := buf[:count*runBytes]
	if err := read(s.index, s.indexName, b, s.runsAt+(int64(sp.start)+int64(from))*runBytes); err != nil {
		return nil, err
	}
	runs = slices.Grow(runs, count)
	for i := range count {
		record := b[i*runBytes : (i+1)*runBytes]
		position := sp.start + uint32(from+i)
		if recordSum(s.salt, position, record) != binary.LittleEndian.Uint32(record[plainBytes:]) {
			return nil, &Damage{
				File: s.indexName, At: s.runsAt + int64(position)*runBytes,
				Why: "the record of a run there " +
					"is not what was written",
			}
		}
		runs = append(runs, readRun(record))
	}
	return runs, nil
}

// messages reads the messages of runs, in order.
func (s *segment) messages(runs []run) ([][]byte, error) {
	found := make([][]byte, 0, len(runs))
	for len(runs) > 0 {
		from, end, n := int64(runs[0].at), int64(runs[0].at), 0
		for n < len(runs) && int64(runs[n].at) >= end && int64(runs[n].at)-end <= readGap {
			end = int64(runs[n].at) + int64(runs[n].bytes)
			n++
		}
		b := make([]byte, end-from)
		if err := read(s.file, s.name, b, from); err != nil {
			return nil, err
		}
		for _, r := range runs[:n] {
			at := int64(r.at) - from
			messages := b[at : at+int64(r.bytes) : at+int64(r.bytes)]
			if crc32.Checksum(messages, castagnoli) != r.sum {
				return nil, &Damage{
					File: s.name, At: int64(r.at),
					Why: fmt.Sprintf("the messages of offset %d are not what "+
						"they were", r.offset),
				}
			}
			found = append(found, messages)
		}
		runs = runs[n:]
	}
	return found, nil
}

// ByTime is the first offset at or after a time. ok is false when all there is is older, or there is nothing.
func (l *Log) ByTime(id uint32, time int64) (offset uint64, ok bool, err error) {
	l.mu.RLock()
	t := l.topics[id]
	if t == nil {
		l.mu.RUnlock()
		return 0, false, nil
	}
	spans := make([]span, len(t.spans))
	copy(spans, t.spans)
	for _, sp := range spans {
		sp.segment.acquire()
	}
	i := sort.Search(len(t.open), func(i int) bool { return t.open[i].time >= time })
	if i < len(t.open) {
		offset, ok = t.open[i].offset, true
	}
	l.mu.RUnlock()
	defer func() {
		for _, sp := range spans {
			_ = sp.segment.release() // a file that was only read
		}
	}()
	// The last run of each span decides: the first span whose last is late enough has it.
	n := sort.Search(len(spans), func(i int) bool {
		if err != nil {
			return true
		}
		var last []run
		last, err = spans[i].runs(int(spans[i].count)-1, 1)
		return err != nil || last[0].time >= time
	})
	if err != nil || n == len(spans) {
		return offset, ok, err
	}
	sp := spans[n]
	at, err := sp.search(func(r run) bool { return r.time >= time })
	if err != nil || at == int(sp.count) {
		return 0, false, err
	}
	found, err := sp.runs(at, 1)
	if err != nil {
		return 0, false, err
	}
	return found[0].offset, true, nil
}
