package core

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// snapshotVersion is the form that Snapshot writes, where no topic was restored; restoredVersion the one where
// one was; raisedVersion the one from level 1 on, so that what needs no new program is for no new program:
//
//	snapshot  = version(1 byte, 0x01 to 0x03) index time lastID {level} topic* producer* crc32c(u32 LE of all before)
//	topic     = name id first next total gone step created retentionAge retentionBytes [restore restoring] mark* group*
//	mark      = offset bytes          each less the one before
//	group     = id name ackTimeout maxAttempts floor dead seeks {owner trimmed lostFrom lost tried*} range*
//	tried     = first last attempts lost due   first less the one before's last, last less first
//	range     = first last            each less the number before, from floor on
//	producer  = id {owner} sequence*   who was silent for longest comes first
//	sequence  = topic next run*       by topic
//	run       = offset count          oldest first, the offset less the end of the one before
//
// Topics and groups are by name. Numbers are uvarint, text has its length before it, and so have the stars
// their count. The part in brackets is in forms 2 and 3, restoring being 0 or 1; the part in braces is in form
// 3 alone. lost is lostTo less lostFrom.
const (
	snapshotVersion = 1
	restoredVersion = 2
	raisedVersion   = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Snapshot writes the whole state, the same bytes for the same state.
func (m *Machine) Snapshot() []byte {
	b := append(make([]byte, 0, 64+len(m.names)*64+len(m.producers)*32+m.sequences*64), snapshotVersion)
	restored := slices.ContainsFunc(m.names, func(t *topic) bool { return t.restore != 0 })
	if restored {
		b[0] = restoredVersion
	}
	b = appendNumbers(b, m.index, uint64(m.time), uint64(m.lastID))
	if m.level > 0 {
		b[0] = raisedVersion
		b = appendNumbers(b, uint64(m.level))
	}
	form := b[0]
	b = appendNumbers(b, uint64(len(m.names)))
	for _, t := range m.names {
		b = t.append(b, form)
	}
	b = appendNumbers(b, uint64(len(m.producers)))
	for p := m.silent.newer; p != &m.silent; p = p.newer {
		b = appendNumbers(b, p.id)
		if form >= raisedVersion {
			b = appendText(b, p.owner.name)
		}
		b = appendNumbers(b, uint64(len(p.sequences)))
		for _, id := range slices.Sorted(maps.Keys(p.sequences)) {
			s := p.sequences[id]
			b = appendNumbers(b, uint64(id), s.next, uint64(len(s.runs)))
			end := uint64(0)
			for i := len(s.runs) - 1; i >= 0; i-- {
				run := s.back(i)
				b = appendNumbers(b, run.offset-end, uint64(run.count))
				end = run.offset + uint64(run.count)
			}
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func (t *topic) append(b []byte, form byte) []byte {
	b = appendText(b, t.name)
	b = appendNumbers(b, uint64(t.id), t.first, t.next, t.total, t.gone, t.step, uint64(t.created),
		uint64(t.retentionAge),
		t.retentionBytes)
	if form >= restoredVersion {
		restoring := uint64(0)
		if t.restoring {
			restoring = 1
		}
		b = appendNumbers(b, t.restore, restoring)
	}
	b = appendNumbers(b, uint64(len(t.marks)))
	var before mark
	for _, k := range t.marks {
		b = appendNumbers(b, k.offset-before.offset, k.bytes-before.bytes)
		before = k
	}
	b = appendNumbers(b, uint64(len(t.groups)))
	for _, g := range t.groups {
		b = appendText(appendNumbers(b, g.id), g.name)
		b = appendNumbers(b, uint64(g.ackTimeout), uint64(g.maxAttempts), g.floor, g.dead, g.seeks)
		if form >= raisedVersion {
			b = g.appendRaised(b)
		}
		b = appendNumbers(b, uint64(len(g.acked)))
		last := g.floor
		for _, r := range g.acked {
			b = appendNumbers(b, r.First-last, r.Last-r.First)
			last = r.Last
		}
	}
	return b
}

func (g *group) appendRaised(b []byte) []byte {
	b = appendNumbers(appendText(b, g.owner.name), g.trimmed, g.lostFrom, g.lostTo-g.lostFrom, uint64(len(g.tries)))
	last := uint64(0)
	for _, t := range g.tries {
		b = appendNumbers(b, t.First-last, t.Last-t.First, uint64(t.attempts), uint64(t.lost), uint64(t.due))
		last = t.Last
	}
	return b
}

func appendNumbers(b []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(appendNumbers(b, uint64(len(text))), text...)
}

// Restore reads what Snapshot wrote. It refuses, as Internal, whatever could not have been a state: a machine
// that continues from one would differ from the others, and silently; Unimplemented is a snapshot of another
// version.
func Restore(snapshot []byte) (*Machine, error) {
	body := len(snapshot) - crc32.Size
	switch {
	case body < 1:
		return nil, status.Errorf(status.Internal, "a snapshot of %d bytes is cut off", len(snapshot))
	case snapshot[0] < snapshotVersion || snapshot[0] > raisedVersion:
		return nil, status.Errorf(status.Unimplemented,
			"a snapshot has form %d and this program reads forms up to %d: run "+
				"the version that wrote it, or a later one", snapshot[0], raisedVersion)
	case binary.LittleEndian.Uint32(snapshot[body:]) != crc32.Checksum(snapshot[:body], castagnoli):
		return nil, status.Errorf(status.Internal, "a snapshot of %d bytes is damaged: its checksum is another",
			len(snapshot))
	}
	r := reader{data: snapshot[:body], at: 1, form: snapshot[0]}
	m := empty()
	m.index, m.time, m.lastID = r.number("index", math.MaxUint64>>idBits), int64(r.number("time", math.MaxInt64)),
		uint32(r.number("last id", math.MaxUint32))
	if r.form >= raisedVersion {
		m.level = uint32(r.between("level", 1, math.MaxUint32))
		if m.level > Level {
			return nil, status.Errorf(status.Unimplemented,
				"a snapshot is of level %d and this program knows levels up to "+
					"%d: run the version that wrote it, or a later one", m.level, Level)
		}
	}
	for range r.count("topics") {
		r.topic(m)
	}
	for range r.count("producers") {
		r.producer(m)
	}
	r.check(r.at == len(r.data), "length")
	t := m.topics[deadLetters]
	r.check(t != nil && t.name == hermes.DeadLetters, "topic of dead letters")
	if r.wrong != "" {
		return nil, status.Errorf(status.Internal, "a snapshot of %d bytes is no state at byte %d: its %s is wrong",
			len(snapshot), r.at, r.wrong)
	}
	return m, nil
}

// reader reads a snapshot. The first thing that is wrong stays, and each read behind it is zero.
type reader struct {
	data  []byte
	at    int
	wrong string
	form  byte
}

func (r *reader) check(ok bool, what string) {
	if !ok && r.wrong == "" {
		r.wrong = what
	}
}

// between reads a number from least to most; zero stands for one that is wrong.
func (r *reader) between(what string, least, most uint64) uint64 {
	if r.wrong != "" {
		return 0
	}
	n, size := binary.Uvarint(r.data[r.at:])
	if size <= 0 || n < least || n > most {
		r.wrong = what
		return 0
	}
	r.at += size
	return n
}

func (r *reader) number(what string, most uint64) uint64 { return r.between(what, 0, most) }

// count reads how many things follow. Each takes a byte at least, so that the allocation is bounded by the
// remaining bytes; none is made for a wrong length.
func (r *reader) count(what string) int {
	return int(r.number(what, uint64(len(r.data)-r.at)))
}

func (r *reader) text(what string) string {
	n := r.count(what)
	if n > len(r.data)-r.at {
		r.check(false, what)
		return ""
	}
	r.at += n
	return string(r.data[r.at-n : r.at])
}

func (r *reader) topic(m *Machine) {
	t := &topic{name: r.text("topic's name"), id: uint32(r.between("topic's id", 1, uint64(m.lastID)))}
	t.first = r.number("first offset", offsetsLimit)
	t.next = r.between("next offset", t.first, offsetsLimit)
	t.total = r.number("bytes", math.MaxInt64)
	t.gone = r.number("bytes gone", t.total)
	t.step = r.number("step of marks", math.MaxInt64/marksLimit)
	t.created = int64(r.number("time of creation", math.MaxInt64))
	t.retentionAge, t.retentionBytes = int64(r.number("retention", math.MaxInt64)),
		r.number("retention", math.MaxUint64)
	if r.form >= restoredVersion {
		t.restore = r.number("restore", math.MaxUint64)
		t.restoring = r.number("restoring", min(1, t.restore)) == 1
	}
	if r.wrong != "" {
		return
	}
	n := len(m.names)
	r.check(hermes.CheckTopic(t.name) == nil && (n == 0 || m.names[n-1].name < t.name), "topic's name")
	r.check(m.topics[t.id] == nil, "topic's id")
	r.marks(t)
	if r.wrong != "" {
		return
	}
	m.addTopic(t)
	for range r.count("groups") {
		r.group(m, t)
	}
}

func (r *reader) marks(t *topic) {
	n := r.count("marks")
	r.check(n <= marksLimit && (n == 0) == (t.first == t.next), "count of marks")
	r.check(t.first < t.next || t.gone == t.total, "bytes of an empty topic")
	var k mark
	for i := 0; i < n && r.wrong == ""; i++ {
		least, most := uint64(1), t.next-1
		if i == 0 {
			least, most = 0, t.first
		}
		k.offset += r.between("mark", least, most-min(most, k.offset))
		k.bytes += r.number("mark's bytes", t.total-k.bytes)
		t.marks = append(t.marks, k)
	}
}

func (r *reader) group(m *Machine, t *topic) {
	g := &group{topic: t, id: r.between("group's id", 1, math.MaxUint64), name: r.text("group's name")}
	g.ackTimeout = int64(r.between("ack timeout", 1, math.MaxInt64))
	g.maxAttempts = uint32(r.between("attempts", 1, math.MaxUint32))
	g.floor = r.between("floor", t.first, t.next)
	g.dead = r.number("dead letters", math.MaxInt64)
	g.seeks = r.number("seeks", math.MaxInt64)
	if r.form >= raisedVersion {
		r.raised(m, g)
	}
	last := g.floor
	for range r.count("ranges") {
		// Behind the floor, and behind the range before with a gap between.
		least := uint64(1)
		if last != g.floor {
			least = 2
		}
		first := last + r.between("range", least, t.next-last)
		if r.check(first < t.next, "range"); r.wrong != "" {
			return
		}
		last = first + r.number("range's length", t.next-1-first)
		g.acked = append(g.acked, broker.Range{First: first, Last: last})
	}
	if r.wrong != "" {
		return
	}
	n := len(t.groups)
	r.check(hermes.CheckGroup(g.name) == nil && (n == 0 || t.groups[n-1].name < g.name), "group's name")
	r.check(m.groups[g.id] == nil, "group's id")
	m.addGroup(g)
	m.tries += len(g.tries)
}

// raised reads what a group has from level 1 on.
func (r *reader) raised(m *Machine, g *group) {
	owner := r.text("group's owner")
	g.trimmed = r.number("trimmed messages", math.MaxInt64)
	g.lostFrom = r.number("gap", offsetsLimit)
	g.lostTo = g.lostFrom + r.number("gap", offsetsLimit-g.lostFrom)
	r.check(g.lostTo > g.lostFrom || g.lostTo == 0, "gap")
	last := uint64(0)
	for i := range r.count("tries") {
		least := uint64(1)
		if i == 0 {
			least = 0
		}
		var t tried
		t.First = last + r.between("tries", least, offsetsLimit-last)
		t.Last = t.First + r.number("tries", offsetsLimit-t.First)
		t.attempts = uint32(r.between("attempts", 1, math.MaxUint32))
		t.lost = uint32(r.number("lost attempts", uint64(t.attempts)))
		t.due = int64(r.number("time of the next attempt", math.MaxInt64))
		if r.check(t.Last < g.topic.next, "tries"); r.wrong != "" {
			return
		}
		g.tries, last = append(g.tries, t), t.Last
	}
	if r.wrong == "" {
		g.owner = m.owned(owner)
	}
}

func (r *reader) producer(m *Machine) {
	id, owner := r.between("producer's id", 1, math.MaxUint64), ""
	if r.form >= raisedVersion {
		owner = r.text("producer's owner")
	}
	sequences := r.count("sequences")
	if r.check(m.producers[id] == nil, "producer's id"); r.wrong != "" {
		return
	}
	p := m.addProducer(id, m.owned(owner))
	least := uint64(1)
	for range sequences {
		topic := r.between("sequence's topic", least, math.MaxUint32)
		t := m.topics[uint32(topic)]
		if r.check(t != nil, "sequence's topic"); r.wrong != "" {
			return
		}
		least = topic + 1
		r.sequence(m, p, t)
	}
}

func (r *reader) sequence(m *Machine, p *producer, t *topic) {
	s := m.begin(p, t, r.number("sequence", offsetsLimit))
	runs := r.count("runs")
	r.check(0 < runs && runs <= m.limits.runs, "count of runs")
	begins, end := s.next, uint64(0)
	for i := 0; i < runs && r.wrong == ""; i++ {
		offset := end + r.number("run", t.next-end)
		count := r.between("run's count", 1, min(math.MaxUint32, t.next-offset))
		r.check(count < begins, "run's count")
		begins, end = begins-count, offset+count
		s.runs = append(s.runs, stored{offset, uint32(count)})
	}
}
