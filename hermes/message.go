package hermes

import (
	"slices"
	"strconv"
	"strings"
)

// Mode says when a publish is acknowledged. The numbers are those of the wire.
type Mode uint8

// The modes.
const (
	// Consistent: on disk on a quorum of nodes.
	Consistent Mode = 0
	// Eventual: on disk on the leader, being replicated. The offset is not known
	// yet; a leader lost before it replicated loses the message.
	Eventual Mode = 1
	// Performance: handed to the live subscribers of the leader's memory, and from there
	// to those of the other nodes, as far as they keep up. It has no offset, is on no disk
	// and reaches no group.
	Performance Mode = 2
)

// Message is what a publisher hands over.
type Message struct {
	Payload []byte // 0 to PayloadLimit bytes, of any kind
	Key     []byte // 0 to KeyLimit bytes, kept and passed on, never interpreted
	Headers []Header
}

// Header is a named value next to a payload. Names may repeat; order stays.
type Header struct {
	Name  string // 1 to HeaderNameLimit bytes of UTF-8
	Value []byte // with all other headers of its message at most HeadersLimit bytes
}

// Delivered is a message as a subscriber gets it.
type Delivered struct {
	Topic   string
	Offset  uint64
	Time    int64  // Unix nanoseconds: when the leader took it
	Attempt uint32 // from 1; more than 1 in a group whose member did not acknowledge it
	// Gap is what retention took just before this message, which its reader, or its group, was to have; nil: nothing.
	Gap *Gap
	Message
}

// Gap is messages that are gone for good: the offsets of the first and the last of them.
type Gap struct{ First, Last uint64 }

// The names of headers a dead letter carries next to its own.
const (
	HeaderTopic    = "hermes-topic"    // where it was
	HeaderOffset   = "hermes-offset"   // its offset there, decimal
	HeaderGroup    = "hermes-group"    // who could not deal with it
	HeaderAttempts = "hermes-attempts" // how often it was tried, decimal
	HeaderReason   = "hermes-reason"   // what the last member said, or "not acknowledged in time"
)

// reasonLimit is how many bytes of a reason a dead letter carries. It comes from a
// member and would otherwise make a header of any size.
const reasonLimit = 1 << 10

// DeadLetter is m in the form in which it is stored in topic [DeadLetters]: as it was, with where it was and
// why no one dealt with it in headers behind its own, which are not counted against HeadersLimit.
func DeadLetter(m Message, topic string, offset uint64, group string, attempts uint32, reason string) Message {
	if reason == "" {
		reason = "not acknowledged in time"
	}
	reason = strings.ToValidUTF8(reason[:min(len(reason), reasonLimit)], "")
	m.Headers = append(slices.Clip(m.Headers),
		Header{HeaderTopic, []byte(topic)},
		Header{HeaderOffset, strconv.AppendUint(nil, offset, 10)},
		Header{HeaderGroup, []byte(group)},
		Header{HeaderAttempts, strconv.AppendUint(nil, uint64(attempts), 10)},
		Header{HeaderReason, []byte(reason)},
	)
	return m
}
