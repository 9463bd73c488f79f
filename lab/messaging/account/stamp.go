package account

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
)

// StampSize is the size of a stamp in bytes, which is also the minimum size of a message. The stamp is little-endian:
//
//	 0  4  CRC32C of all bytes that follow
//	 4  8  run
//	12  4  sequence
//	16  8  number in the sequence, from 0
//	24  8  when it was due, ns on the run's clock
//	32  2  topic
//	34  1  flags
//	35  1  0
//	36     filling
const StampSize = 36

// flagRecorded marks a message that was due inside the window.
const flagRecorded = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Stamp identifies a message. See [StampSize] for its layout.
type Stamp struct {
	Run      uint64
	Sequence uint32
	Number   uint64
	Due      int64
	Topic    uint16
	Recorded bool
}

// put writes the stamp at the front of body. The filling must be in place, because the checksum covers it.
func (s Stamp) put(body []byte) {
	le := binary.LittleEndian
	le.PutUint64(body[4:], s.Run)
	le.PutUint32(body[12:], s.Sequence)
	le.PutUint64(body[16:], s.Number)
	le.PutUint64(body[24:], uint64(s.Due))
	le.PutUint16(body[32:], s.Topic)
	body[34], body[35] = 0, 0
	if s.Recorded {
		body[34] = flagRecorded
	}
	le.PutUint32(body, crc32.Checksum(body[4:], castagnoli))
}

// Read returns a message's stamp, and whether the message is unchanged since it was sent. It accepts any bytes.
func Read(body []byte) (s Stamp, whole bool) {
	le := binary.LittleEndian
	if len(body) < StampSize || le.Uint32(body) != crc32.Checksum(body[4:], castagnoli) {
		return Stamp{}, false
	}
	return Stamp{
		Run: le.Uint64(body[4:]), Sequence: le.Uint32(body[12:]), Number: le.Uint64(body[16:]),
		Due: int64(le.Uint64(body[24:])), Topic: le.Uint16(body[32:]), Recorded: body[34]&flagRecorded != 0,
	}, true
}

// filling is the content of messages. It is random, so that no disk or wire can compress it: identical payloads took
// 32 bytes each on disk (docs/origins.md hb-M24). Each message starts at another offset of it.
type filling struct{ drawn []byte }

// fillingSpare is the number of offsets at which a message's filling can start.
const fillingSpare = 4096

func newFilling(size int, seed uint64) filling {
	r := rand.New(rand.NewPCG(seed, 0x66696c6c)) // the second word separates this use of the seed
	f := filling{drawn: make([]byte, size+fillingSpare+8)}
	for i := 0; i+8 <= len(f.drawn); i += 8 {
		binary.LittleEndian.PutUint64(f.drawn[i:], r.Uint64())
	}
	return f
}

// body returns a new message of a size, with room for its stamp.
func (f filling) body(size int, number uint64) []byte {
	body := make([]byte, size)
	at := int(number*61) % fillingSpare // 61: any step that has no factor in common with fillingSpare
	copy(body[StampSize:], f.drawn[at:])
	return body
}
