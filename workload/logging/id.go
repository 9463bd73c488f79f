package logging

import (
	"crypto/rand"
	"strings"
	"time"
)

// A generated id has 26 characters: ten for the milliseconds since 1970 and sixteen random ones, five bits each.
// Ids of the same millisecond differ by 80 random bits (the origin's id is chosen by its database, so the caller
// does not know it in advance), and ids of different ones sort by time, which suits an index.
const (
	madeLength  = 26
	madeLetters = "0123456789abcdefghjkmnpqrstvwxyz" // without i, l, o and u
	clockDigits = 10
)

// NewID returns an id that no other entry has. A gateway calls it for an entry without an id before it passes it
// on, so that an entry sent twice is stored once.
func NewID() string { return makeID(time.Now()) }

func makeID(now time.Time) string {
	var id [madeLength]byte
	clock := uint64(now.UnixMilli())
	for i := clockDigits - 1; i >= 0; i-- {
		id[i] = madeLetters[clock&31]
		clock >>= 5
	}
	var chance [16]byte         // five bits of each byte are used: packing sixteen bytes is not worth the effort
	_, _ = rand.Read(chance[:]) // never fails: it ends the program first
	for i, b := range chance {
		id[clockDigits+i] = madeLetters[b&31]
	}
	return string(id[:])
}

// MadeID reports whether an id has the form of those of [NewID].
func MadeID(id string) bool {
	return len(id) == madeLength && strings.Trim(id, madeLetters) == ""
}
