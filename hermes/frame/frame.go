// Package frame encodes the messages of hermes.proto that carry a topic's messages, for both
// ends of the gRPC API. The messages of a frame stay one byte slice from a publisher to the log and from the log
// to a subscriber: they are neither decoded nor copied one by one. It knows no call and no broker; package record
// checks the content of messages.
//
// Reading copies a frame once, out of the buffers that grpc-go reads into, and keeps no reference to them. Sharing
// those buffers was considered: they would have to be kept for as long as a caller may still send or store the run, a
// mistake would store one publisher's bytes as another's, and the copy costs less than a fiftieth of a frame.
package frame

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"wirelab/hermes"
	"wirelab/wire/status"
)

// Limit is the bytes of the largest frame that either end takes. It has room for a run
// at its own limit and for a batch of several.
const Limit = 2 * hermes.RunLimit

// unknownMode is what a mode beyond a byte is read as; the API refuses it as any unknown one.
const unknownMode = 0xff

// Run is a Run, or a PublishRequest: the fields that both have, have the same numbers.
type Run struct {
	Topic    string
	Messages []byte // field 2, repeated, as record.Check wants it; not checked here
	Mode     hermes.Mode
	Producer uint64
	Sequence uint64
	Tag      uint64
}

// Runs is a Runs, or a PublishBatchRequest: both have the same form.
type Runs []Run

// Verdict is a Verdict. Code is wirelab's name of one; "" is a run that was stored.
type Verdict struct {
	Tag, Offset            uint64
	Count                  uint32
	Time                   int64
	Duplicate, Provisional bool
	Term, Index            uint64
	Failed                 bool   // Code and Message say why
	Leader                 string // where the leader is, if that is another node: the error's, or the verdict's own
	Code, Message          string
}

// Verdicts is a Verdicts; a PublishBatchReply has the same form.
type Verdicts []Verdict

// Receipt is a PublishReply.
type Receipt struct {
	Offset                 uint64
	Time                   int64
	Duplicate, Provisional bool
	Term, Index            uint64
}

// Delivery is a Delivery.
type Delivery struct {
	Offset   uint64
	Messages []byte
	Time     int64
	Attempt  uint32
	Live     bool
	Settled  uint64 // 0: as before
	Late     []Range
	Gap      *Range // before Messages
}

// Range is offsets, both inclusive.
type Range struct{ First, Last uint64 }

// Frame is a message as grpc-go sends it. What it is made of must not be changed while the
// call lasts.
type Frame interface{ Buffers() mem.BufferSlice }

var (
	_ Frame = (*Run)(nil)
	_ Frame = Runs(nil)
	_ Frame = Verdicts(nil)
	_ Frame = (*Receipt)(nil)
	_ Frame = (*Delivery)(nil)
	_ Frame = Raw(nil)
)

// Raw is the bytes of any frame.
type Raw []byte

// Buffers implements [Frame].
func (r Raw) Buffers() mem.BufferSlice { return mem.BufferSlice{mem.SliceBuffer(r)} }

// headSize is enough for the numbers of a frame that carries messages.
const headSize = 64

// Buffers implements [Frame]: the messages are sent from where they are.
func (r *Run) Buffers() mem.BufferSlice {
	return around(r.appendHead(make([]byte, 0, headSize+len(r.Topic))), r.Messages)
}

func (r *Run) appendHead(b []byte) []byte {
	if r.Topic != "" {
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), r.Topic)
	}
	b = number(b, 3, uint64(r.Mode))
	b = number(b, 4, r.Producer)
	b = number(b, 5, r.Sequence)
	return number(b, 6, r.Tag)
}

// Buffers implements [Frame]: the messages are sent from where they are.
func (r Runs) Buffers() mem.BufferSlice {
	size := 0
	for i := range r {
		size += headSize + len(r[i].Topic)
	}
	heads := make([]byte, 0, size)
	var head []byte
	all := make(mem.BufferSlice, 0, 2*len(r))
	for i := range r {
		head = r[i].appendHead(head[:0])
		from := len(heads)
		heads = protowire.AppendTag(heads, 1, protowire.BytesType)
		heads = protowire.AppendVarint(heads, uint64(len(head)+len(r[i].Messages)))
		heads = append(heads, head...)
		all = append(all, around(heads[from:len(heads):len(heads)], r[i].Messages)...)
	}
	return all
}

// Buffers implements [Frame]: the messages are sent from where they are.
func (d *Delivery) Buffers() mem.BufferSlice {
	b := number(make([]byte, 0, headSize), 1, d.Offset)
	b = number(b, 3, uint64(d.Time))
	b = number(b, 4, uint64(d.Attempt))
	b = number(b, 5, flag(d.Live))
	b = number(b, 6, d.Settled)
	for _, r := range d.Late {
		one := number(number(nil, 1, r.First), 2, r.Last)
		b = protowire.AppendBytes(protowire.AppendTag(b, 7, protowire.BytesType), one)
	}
	if d.Gap != nil {
		one := number(number(nil, 1, d.Gap.First), 2, d.Gap.Last)
		b = protowire.AppendBytes(protowire.AppendTag(b, 8, protowire.BytesType), one)
	}
	return around(b, d.Messages)
}

// Buffers implements [Frame].
func (r *Receipt) Buffers() mem.BufferSlice {
	b := number(make([]byte, 0, headSize), 1, r.Offset)
	b = number(b, 2, uint64(r.Time))
	b = number(b, 3, flag(r.Duplicate))
	b = number(b, 4, flag(r.Provisional))
	b = number(b, 5, r.Term)
	return mem.BufferSlice{mem.SliceBuffer(number(b, 6, r.Index))}
}

// Buffers implements [Frame].
func (v Verdicts) Buffers() mem.BufferSlice {
	b := make([]byte, 0, headSize*len(v))
	var one []byte
	for i := range v {
		one = v[i].append(one[:0])
		b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), one)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}
}

func (v *Verdict) append(b []byte) []byte {
	b = number(b, 1, v.Tag)
	b = number(b, 2, v.Offset)
	b = number(b, 3, uint64(v.Count))
	b = number(b, 4, uint64(v.Time))
	b = number(b, 5, flag(v.Duplicate))
	b = number(b, 6, flag(v.Provisional))
	b = number(b, 7, v.Term)
	b = number(b, 8, v.Index)
	if !v.Failed {
		if v.Leader != "" {
			b = protowire.AppendString(protowire.AppendTag(b, 10, protowire.BytesType), v.Leader)
		}
		return b
	}
	var e []byte
	for i, s := range []string{v.Code, v.Message, v.Leader} {
		if s != "" {
			e = protowire.AppendString(protowire.AppendTag(e, protowire.Number(i+1), protowire.BytesType), s)
		}
	}
	return protowire.AppendBytes(protowire.AppendTag(b, 9, protowire.BytesType), e)
}

// around puts a frame together: its numbers, then its messages.
func around(head, messages []byte) mem.BufferSlice {
	if len(messages) == 0 {
		return mem.BufferSlice{mem.SliceBuffer(head)}
	}
	return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(messages)}
}

// number writes a field unless it is 0, as proto3 does.
func number(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func malformed(what, how string) error {
	return status.Errorf(status.InvalidArgument, "%s is malformed: %s", what, how)
}
