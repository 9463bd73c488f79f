// Package backup reads and writes backup files: topics with their messages
// and offsets, and groups with their cursors, at one cut. [Save] writes a file from any
// broker.Archive, and [Restore] restores a file into one. The package knows no network, no log and no file names.
//
// # Form, version 1
//
//	file  = magic("hermesbk") version(u32 LE) block*
//	block = length(u32 LE of the body) kind(1 byte) crc32c(u32 LE) body
//
// The crc is over the block's number, counted from 0, its length, its kind and its body: a block that is
// missing, doubled or elsewhere is noticed like one that was changed. The first block is the cut, the last one
// is the end, which counts everything before it; nothing follows it. A topic's block comes before those of its
// groups and of its messages, whose offsets rise and whose times do not fall; where an offset is missing
// between two runs, all before the second were trimmed while the backup was made. In bodies numbers are
// uvarint, and text and messages have their length before them.
//
// Messages are in the form of broker.Run.Messages. Their time is kept next to them.
package backup

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// Version is the form that is written; others are refused by their number.
const Version = 1

const (
	magic       = "hermesbk"
	headerBytes = 9
	// bodyLimit bounds what a reader allocates for one block: a run, with room for the parts next to it.
	bodyLimit = hermes.RunLimit + 1<<16
)

const (
	kindCut byte = 1 + iota
	kindTopic
	kindGroup
	kindRun
	kindEnd
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Cut says what a backup is of.
type Cut struct {
	Index uint64 // of the log's entry that all in the file is after
	Time  int64  // Unix nanoseconds, when it was made
}

// Item is one thing of a backup: exactly one of Topic, Group and Run is set. A Run is of the
// topic that was told last; it is valid until the next item is read.
type Item struct {
	Topic *broker.Topic // Name, First, Next, Created and retention
	Group *broker.Group // without what only a leader knows
	Run   *broker.Batch
}

// Totals are what a file holds.
type Totals struct {
	Cut                             Cut
	Topics, Groups, Messages, Bytes uint64 // Bytes of messages
}

// Writer writes a backup as a stream. The first failure stays.
type Writer struct {
	w      *bufio.Writer
	number uint64
	body   []byte
	totals Totals
	err    error
}

// NewWriter begins a file.
func NewWriter(w io.Writer, cut Cut) (*Writer, error) {
	b := &Writer{w: bufio.NewWriterSize(w, 1<<20), totals: Totals{Cut: cut}}
	_, b.err = b.w.Write(binary.LittleEndian.AppendUint32([]byte(magic), Version))
	b.block(kindCut, numbers(b.body[:0], cut.Index, uint64(cut.Time)))
	return b, b.err
}

// Topic begins a topic; its groups and its runs follow.
func (b *Writer) Topic(t broker.Topic) error {
	b.totals.Topics++
	body := text(b.body[:0], t.Name)
	b.block(kindTopic, numbers(body, t.First, t.Next, uint64(t.Created), uint64(t.RetentionAge), t.RetentionBytes))
	return b.err
}

// Group adds a group of the topic that was begun last.
func (b *Writer) Group(g broker.Group) error {
	b.totals.Groups++
	body := numbers(text(b.body[:0], g.Name), uint64(g.AckTimeout), uint64(g.MaxAttempts), g.Floor, g.Dead,
		uint64(len(g.Acked)))
	for _, r := range g.Acked {
		body = numbers(body, r.First, r.Last)
	}
	b.block(kindGroup, body)
	return b.err
}

// Run adds messages of the topic that was begun last, which come behind those before.
func (b *Writer) Run(r broker.Batch) error {
	b.totals.Messages += uint64(r.Count)
	b.totals.Bytes += uint64(len(r.Messages))
	body := numbers(b.body[:0], r.Offset, uint64(r.Count), uint64(r.Time))
	b.block(kindRun, append(numbers(body, uint64(len(r.Messages))), r.Messages...))
	return b.err
}

// Close writes the end mark. Without it a reader takes the file for one that was cut off. It
// syncs and closes nothing: the file is the caller's.
func (b *Writer) Close() (Totals, error) {
	b.block(kindEnd, numbers(b.body[:0], b.totals.Topics, b.totals.Groups, b.totals.Messages, b.totals.Bytes))
	if b.err == nil {
		b.err = b.w.Flush()
	}
	if b.err != nil {
		return b.totals, b.err
	}
	b.err = errors.New("the backup has its end mark already")
	return b.totals, nil
}

func (b *Writer) block(kind byte, body []byte) {
	b.body = body
	if b.err == nil && len(body) > bodyLimit {
		b.err = status.Errorf(status.InvalidArgument, "a part of a backup has %d bytes; at most %d are allowed",
			len(body),
			bodyLimit)
	}
	if b.err != nil {
		return
	}
	var h [headerBytes]byte
	binary.LittleEndian.PutUint32(h[:], uint32(len(body)))
	h[4] = kind
	binary.LittleEndian.PutUint32(h[5:], sum(b.number, h[:5], body))
	b.number++
	if _, b.err = b.w.Write(h[:]); b.err == nil {
		_, b.err = b.w.Write(body)
	}
}

func sum(number uint64, head, body []byte) uint32 {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], number)
	c := crc32.Checksum(n[:], castagnoli)
	return crc32.Update(crc32.Update(c, castagnoli, head), castagnoli, body)
}

func numbers(b []byte, all ...uint64) []byte {
	for _, n := range all {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func text(b []byte, s string) []byte { return append(numbers(b, uint64(len(s))), s...) }

// Read reads a file and hands each item to visit, in order. It does so before it has seen the end, so a caller
// that writes by it reads the file twice, first with a visit that does nothing: then a file that is cut off or
// changed is refused before anything is written. Errors of the file are InvalidArgument and say at which byte;
// Unimplemented is another version.
func Read(r io.Reader, visit func(Item) error) (Totals, error) {
	d := &decoder{r: bufio.NewReaderSize(r, 1<<20)}
	head := make([]byte, len(magic)+4)
	if _, err := io.ReadFull(d.r, head); err != nil || string(head[:len(magic)]) != magic {
		return d.totals, status.Errorf(status.InvalidArgument, "this is no backup of Hermes")
	}
	if v := binary.LittleEndian.Uint32(head[len(magic):]); v != Version {
		return d.totals, status.Errorf(status.Unimplemented,
			"the backup has form %d and this program reads form %d: run "+
				"the version that wrote it, or a later one", v, Version)
	}
	d.at = int64(len(head))
	for {
		item, ended, err := d.next()
		if err != nil || ended {
			return d.totals, err
		}
		if item == (Item{}) {
			continue
		}
		if err := visit(item); err != nil {
			return d.totals, err
		}
	}
}

type decoder struct {
	r      *bufio.Reader
	at     int64 // where the block begins
	number uint64
	body   []byte
	totals Totals
	topic  *broker.Topic
	least  uint64 // the least offset that the next run may have
	latest int64  // the time of the run before
	from   int    // in body
	wrong  string
}

func (d *decoder) damage(format string, args ...any) error {
	return status.Errorf(status.InvalidArgument, "the backup is damaged at byte %d: %s; take another copy", d.at,
		fmt.Sprintf(format, args...))
}

func (d *decoder) next() (item Item, ended bool, err error) {
	var h [headerBytes]byte
	if _, err := io.ReadFull(d.r, h[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return item, false, d.damage("it is cut off, for it has no end mark")
	} else if err != nil {
		return item, false, err
	}
	n := binary.LittleEndian.Uint32(h[:])
	if n > bodyLimit {
		return item, false, d.damage("a part has %d bytes", n)
	}
	if uint32(cap(d.body)) < n {
		d.body = make([]byte, n)
	}
	d.body = d.body[:n]
	if _, err := io.ReadFull(d.r, d.body); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return item, false, d.damage("it is cut off there")
	} else if err != nil {
		return item, false, err
	}
	if sum(d.number, h[:5], d.body) != binary.LittleEndian.Uint32(h[5:]) {
		return item, false, d.damage("a checksum is wrong")
	}
	d.from, d.wrong = 0, ""
	if (h[4] == kindCut) != (d.number == 0) {
		return item, false, d.damage("a part is there that does not belong there")
	}
	switch h[4] {
	case kindCut:
		d.totals.Cut = Cut{d.uvarint("cut", math.MaxUint64), int64(d.uvarint("time", math.MaxInt64))}
	case kindTopic:
		item.Topic = d.readTopic()
	case kindGroup:
		item.Group = d.readGroup()
	case kindRun:
		item.Run = d.readRun()
	case kindEnd:
		ended = true
		if err := d.end(); err != nil {
			return Item{}, false, err
		}
	default:
		d.fail("kind")
	}
	if d.from != len(d.body) {
		d.fail("length")
	}
	if d.wrong != "" {
		return Item{}, false, d.damage("its %s is wrong", d.wrong)
	}
	d.number++
	d.at += headerBytes + int64(n)
	return item, ended, nil
}

func (d *decoder) fail(what string) {
	if d.wrong == "" {
		d.wrong = what
	}
}

func (d *decoder) uvarint(what string, most uint64) uint64 {
	v, n := binary.Uvarint(d.body[d.from:])
	if n <= 0 || v > most {
		d.fail(what)
		return 0
	}
	d.from += n
	return v
}

func (d *decoder) bytes(what string) []byte {
	n := d.uvarint(what, uint64(len(d.body)-d.from))
	if n > uint64(len(d.body)-d.from) {
		d.fail(what)
		return nil
	}
	d.from += int(n)
	return d.body[d.from-int(n) : d.from]
}

func (d *decoder) readTopic() *broker.Topic {
	t := &broker.Topic{Name: string(d.bytes("topic's name"))}
	t.First = d.uvarint("first offset", math.MaxInt64)
	t.Next = d.uvarint("next offset", math.MaxInt64)
	t.Created = int64(d.uvarint("time of creation", math.MaxInt64))
	t.RetentionAge = int64(d.uvarint("retention", math.MaxInt64))
	t.RetentionBytes = d.uvarint("retention", math.MaxUint64)
	if t.First > t.Next || hermes.CheckTopic(t.Name) != nil {
		d.fail("topic")
	}
	d.topic, d.least, d.latest = t, t.First, 0
	d.totals.Topics++
	return t
}

func (d *decoder) readGroup() *broker.Group {
	if d.topic == nil {
		d.fail("place before any topic")
		return nil
	}
	g := &broker.Group{Topic: d.topic.Name, Name: string(d.bytes("group's name"))}
	g.AckTimeout = int64(d.uvarint("ack timeout", math.MaxInt64))
	g.MaxAttempts = uint32(d.uvarint("attempts", math.MaxUint32))
	g.Floor = d.uvarint("floor", d.topic.Next)
	g.Dead = d.uvarint("dead letters", math.MaxInt64)
	next := g.Floor
	for range d.uvarint("ranges", uint64(len(d.body)-d.from)) {
		r := broker.Range{First: d.uvarint("range", math.MaxInt64), Last: d.uvarint("range", math.MaxInt64)}
		if r.First <= next || r.Last < r.First || r.Last >= d.topic.Next {
			d.fail("range")
		}
		if d.wrong != "" {
			return nil
		}
		next = r.Last + 1
		g.Acked = append(g.Acked, r)
	}
	if hermes.CheckGroup(g.Name) != nil {
		d.fail("group's name")
	}
	d.totals.Groups++
	return g
}

func (d *decoder) readRun() *broker.Batch {
	if d.topic == nil {
		d.fail("place before any topic")
		return nil
	}
	r := &broker.Batch{
		Offset: d.uvarint("offset", math.MaxInt64), Count: int(d.uvarint("count", math.MaxUint32)),
		Time: int64(d.uvarint("time", math.MaxInt64)),
	}
	r.Messages = d.bytes("messages")
	if count, err := record.CheckStored(r.Messages); err != nil || count != r.Count || count == 0 {
		d.fail("messages")
	}
	if r.Offset < d.least || r.Offset+uint64(r.Count) > d.topic.Next {
		d.fail("offset")
	}
	if r.Time < d.latest {
		d.fail("time")
	}
	d.least, d.latest = r.Offset+uint64(r.Count), r.Time
	d.totals.Messages += uint64(r.Count)
	d.totals.Bytes += uint64(len(r.Messages))
	return r
}

func (d *decoder) end() error {
	told := Totals{
		Cut: d.totals.Cut, Topics: d.uvarint("end", math.MaxUint64), Groups: d.uvarint("end", math.MaxUint64),
		Messages: d.uvarint("end", math.MaxUint64), Bytes: d.uvarint("end", math.MaxUint64),
	}
	if told != d.totals {
		return d.damage("it ends with %d messages of %d topics, and had %d of %d", told.Messages, told.Topics,
			d.totals.Messages, d.totals.Topics)
	}
	if _, err := d.r.ReadByte(); err == nil {
		return d.damage("something follows its end")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
