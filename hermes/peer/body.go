package peer

import (
	"encoding/binary"
	"errors"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// The bodies of frames that are frequent. Numbers are uvarints, text and bytes
// have their length before them, but for what comes last.
//
//	publish  = id timeout mode producer sequence count topic messages
//	verdict  = id flags offset count time term index [code message]
//	batch    = id offset count time attempt messages
//	credit   = id bytes [messages]    of a group: one batch, of at most as many messages; 0: any number
//	cancel   = id
//	close    = id [given]    of a group: how many messages were given out there; the rest came in vain
//	call, subscribe = id timeout protobuf    reply, ended = id protobuf
//
// timeout is nanoseconds left when it was sent, 0 for none: clocks of two nodes need not agree.

var errBody = errors.New("a frame ends before what it should hold")

// body is a frame's body being read. The first thing that is not there makes bad true.
type body struct {
	b   []byte
	bad bool
}

func (b *body) number() uint64 {
	v, n := binary.Uvarint(b.b)
	if n <= 0 {
		b.b, b.bad = nil, true
		return 0
	}
	b.b = b.b[n:]
	return v
}

func (b *body) text() string {
	n := b.number()
	if n > uint64(len(b.b)) {
		b.b, b.bad = nil, true
		return ""
	}
	s := string(b.b[:n])
	b.b = b.b[n:]
	return s
}

func (b *body) err() error {
	if b.bad {
		return errBody
	}
	return nil
}

// more is a number that a node of a former version does not send: 0 where it is not there.
func (b *body) more() (v uint64, there bool) {
	if len(b.b) == 0 {
		return 0, false
	}
	return b.number(), true
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendNumbers(dst []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

// appendPublish copies the messages: their owner may use them again as soon as he
// has an answer, which a context gives him while the frame still waits (hb-D14).
func appendPublish(dst []byte, id uint64, timeout time.Duration, run *broker.Run) []byte {
	dst = appendNumbers(dst, id, uint64(timeout), uint64(run.Mode), run.Producer, run.Sequence, uint64(run.Count))
	dst = appendText(dst, run.Topic)
	return append(dst, run.Messages...)
}

func readPublish(data []byte) (id uint64, timeout time.Duration, run broker.Run, err error) {
	b := body{b: data}
	id, timeout = b.number(), time.Duration(b.number())
	mode := b.number()
	run.Producer, run.Sequence = b.number(), b.number()
	run.Count = int(b.number())
	run.Topic = b.text()
	run.Messages = b.b
	if timeout < 0 || run.Count < 0 {
		b.bad = true
	}
	run.Mode = hermes.Mode(min(mode, 255)) // one that is unknown is refused by the broker
	return id, timeout, run, b.err()
}

// The flags of a verdict.
const (
	flagDuplicate = 1 << iota
	flagProvisional
	flagError
)

func appendVerdict(dst []byte, id uint64, v *broker.Verdict) []byte {
	var flags uint64
	if v.Duplicate {
		flags |= flagDuplicate
	}
	if v.Provisional {
		flags |= flagProvisional
	}
	if v.Err != nil {
		flags |= flagError
	}
	dst = appendNumbers(dst, id, flags, v.Offset, uint64(v.Count), uint64(v.Time), v.Term, v.Index)
	if v.Err != nil {
		public := status.Public(v.Err)
		dst = appendText(appendText(dst, public.Code.String()), public.Message)
	}
	return dst
}

func readVerdict(data []byte) (id uint64, v broker.Verdict, err error) {
	b := body{b: data}
	id = b.number()
	flags := b.number()
	v.Offset = b.number()
	v.Count, v.Time = int(b.number()), int64(b.number())
	v.Term, v.Index = b.number(), b.number()
	v.Duplicate, v.Provisional = flags&flagDuplicate != 0, flags&flagProvisional != 0
	if flags&flagError != 0 {
		v.Err = readError(&gen.Error{Code: b.text(), Message: b.text()})
	}
	return id, v, b.err()
}

func appendBatchHead(dst []byte, id uint64, batch *broker.Batch) []byte {
	return appendNumbers(dst, id, batch.Offset, uint64(batch.Count), uint64(batch.Time), uint64(batch.Attempt))
}

func readBatch(data []byte) (id uint64, batch broker.Batch, err error) {
	b := body{b: data}
	id = b.number()
	batch.Offset = b.number()
	batch.Count, batch.Time, batch.Attempt = int(b.number()), int64(b.number()), uint32(b.number())
	batch.Messages = b.b
	return id, batch, b.err()
}

// writeError and readError carry an error as every wire does: code and message. A
// code that this version does not know reads as Internal.
func writeError(err error) *gen.Error {
	if err == nil {
		return nil
	}
	public := status.Public(err)
	return &gen.Error{Code: public.Code.String(), Message: public.Message, Reason: broker.Reason(err)}
}

func readError(e *gen.Error) error {
	if e == nil {
		return nil
	}
	if e.GetReason() == broker.OutOfRange {
		return &broker.OutOfRangeError{Message: e.GetMessage()}
	}
	code, _ := status.ParseCode(e.GetCode())
	return &status.Error{Code: code, Message: e.GetMessage()}
}
