package logging

import (
	"crypto/rand"
	"strings"
	"time"
)

// An id that is made here is 26 characters: ten of the milliseconds since 1970
// and sixteen of chance, five bits each. Ids of one moment differ by 80 bits of
// chance (the origin's is its database's own, and known to nobody before), and
// those of two moments are in their order, as an index likes them.
const (
	madeLength  = 26
	madeLetters = "0123456789abcdefghjkmnpqrstvwxyz" // without i, l, o and u
	clockDigits = 10
)

// NewID makes an id that no other entry has. A gateway calls it for an entry
// without one before it passes it on, so that what is sent twice is stored once.
func NewID() string { return makeID(time.Now()) }

func makeID(now time.Time) string {
	var id [madeLength]byte
	clock := uint64(now.UnixMilli())
	for i := clockDigits - 1; i >= 0; i-- {
		id[i] = madeLetters[clock&31]
		clock >>= 5
	}
	var chance [16]byte         // of each byte five bits are used: sixteen are not worth packing
	_, _ = rand.Read(chance[:]) // never fails: it ends the program first
	for i, b := range chance {
		id[clockDigits+i] = madeLetters[b&31]
	}
	return string(id[:])
}

// MadeID reports whether an id looks like one of [NewID].
func MadeID(id string) bool {
	return len(id) == madeLength && strings.Trim(id, madeLetters) == ""
}
