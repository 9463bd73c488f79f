package account

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
)

// StampSize is how many bytes of a message its stamp takes, and so the least that
// a message has. Little-endian:
//
//	 0  4  CRC32C of all that follows
//	 4  8  run
//	12  4  lane
//	16  8  number in the lane, from 0
//	24  8  when it was due, ns on the run's clock
//	32  2  topic
//	34  1  flags
//	35  1  0
//	36     filling
const StampSize = 36

// flagRecorded: the message was due inside the window.
const flagRecorded = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Stamp is what a message says of itself.
type Stamp struct {
	Run      uint64
	Sequence uint32
	Number   uint64
	Due      int64
	Topic    uint16
	Recorded bool
}

// put writes the stamp at the front of body, whose filling is in place.
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

// Read returns a message's stamp, and whether the message is as it was sent. It
// takes any bytes.
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

// filling is what messages are filled with: drawn, so that no disk or wire
// compresses it (the origin's identical payloads took 32 bytes each on disk,
// docs/origins.md hb-M24), and begun elsewhere for each message.
type filling struct{ drawn []byte }

// fillingSpare is how many places a message's filling can begin at.
const fillingSpare = 4096

func newFilling(size int, seed uint64) filling {
	r := rand.New(rand.NewPCG(seed, 0x66696c6c)) // the second word separates this use of the seed
	f := filling{drawn: make([]byte, size+fillingSpare+8)}
	for i := 0; i+8 <= len(f.drawn); i += 8 {
		binary.LittleEndian.PutUint64(f.drawn[i:], r.Uint64())
	}
	return f
}

// body returns a new message of a size without its stamp.
func (f filling) body(size int, number uint64) []byte {
	body := make([]byte, size)
	at := int(number*61) % fillingSpare // 61: any step that has no factor in common with the spare
	copy(body[StampSize:], f.drawn[at:])
	return body
}
