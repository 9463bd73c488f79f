// Package broker is the interface between the APIs and a node of Hermes. It is the same whether the node leads or
// follows. It knows no wire. Package brokertest tests each implementation against the contract given here, and has one
// in memory.
//
// All errors carry the codes of package status. Unavailable means that there is no leader, or that the leader was
// lost; whether a publish was stored is then unknown, so publish again
// with the same producer and sequence. [Leader] names the leader, as a hint.
package broker

import (
	"context"
	"errors"
	"fmt"

	"wirelab/hermes"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// Run is one topic's part of a publish. Messages is the wire form of field 2, repeated, that record.Check let
// pass: checking is the API's work, since it knows whose mistake it is; Count is what it counted. Messages is
// not changed, and not kept after the answer. A topic that is not there is NotFound.
type Run struct {
	Topic    string
	Messages []byte
	Count    int
	Mode     hermes.Mode
	Producer uint64 // 0: not idempotent
	Sequence uint64 // of the first message, from 1
}

// Verdict is the answer to a run. With Err none of it was stored, but where its code is Unavailable,
// DeadlineExceeded, Canceled or Internal: then the outcome is unknown.
type Verdict struct {
	Offset      uint64 // of the first message
	Count       int
	Time        int64 // Unix nanoseconds
	Duplicate   bool
	Provisional bool   // not replicated yet: Offset and Time are 0
	Term, Index uint64 // of the log
	Err         error
}

// Broker is a node.
type Broker interface {
	// Publish begins to publish a run and returns; done is called once, from any
	// goroutine, when the acknowledgement is true or never will be, and must not
	// block. Runs that one goroutine publishes on one topic keep their order.
	// It waits, for as long as ctx allows, while the node has too much in hand.
	Publish(ctx context.Context, run Run, done func(Verdict))
	// Subscribe begins to deliver. It ends with ctx, with Close, or by itself with an error.
	Subscribe(ctx context.Context, start Start) (Feed, error)
	Topics
	Groups
	Cluster
	Archive
	// OpenProducer gives a producer id that no other has.
	OpenProducer(ctx context.Context) (uint64, error)
}

// From is where a subscriber begins.
type From uint8

// The beginnings.
const (
	FromTail   From = iota // messages from now on
	FromOffset             // Start.Offset; one that was trimmed: the oldest kept; beyond the end: OutOfRangeError
	FromTime               // the first message at or after Start.Time
	FromOldest
	FromGroup // where Start.Group is
)

// Start says what a subscriber wants.
type Start struct {
	Topic    string
	From     From
	Offset   uint64
	Time     int64  // Unix nanoseconds
	Group    string // FromGroup; one that is not there is made, from the oldest message
	InFlight int    // FromGroup: messages at once; 0: hermes.InFlight
	Create   bool   // the topic
}

// Batch is messages that follow one another in their topic. Messages is in the
// form of Run.Messages and must not be changed. Attempt counts from 1; 0 marks
// messages in performance mode: they have no offset, and Offset says nothing.
type Batch struct {
	Offset   uint64 // of the first
	Count    int
	Time     int64
	Attempt  uint32 // from 1; 0: published in mode Performance, has no offset (Offset is 0 and means nothing)
	Messages []byte
	// Gap is what retention took just before, which this feed, or its group, was to have: from the first
	// of the offsets to the last. nil: nothing.
	Gap *Range
}

// Cut is what of a batch there is room for, one message at least, and the rest, whose Count is 0 if that is all.
func (b Batch) Cut(room Room) (head, rest Batch) {
	if len(b.Messages) <= room.Bytes && (room.Messages == 0 || b.Count <= room.Messages) || b.Count <= 1 {
		return b, Batch{}
	}
	messages, count := record.Head(b.Messages, room.Messages, room.Bytes)
	if count >= b.Count {
		return b, Batch{}
	}
	rest = b
	rest.Messages, rest.Count = b.Messages[len(messages):], b.Count-count
	if b.Attempt > 0 { // else it has no offset
		rest.Offset += uint64(count)
	}
	b.Messages, b.Count, rest.Gap = messages, count, nil
	return b, rest
}

// Range is offsets, both inclusive.
type Range struct{ First, Last uint64 }

// Room is how much a subscriber takes now.
type Room struct {
	Messages int // 0: any number
	Bytes    int // if more than one message
}

// Feed is a subscription. Next is for one goroutine at a time; the rest for any.
type Feed interface {
	// Next waits for messages, never more than there is room for. A group's member that is given them is taken to
	// be sent them: each delivery counts as an attempt, and nothing more does. The batch stays valid. Closed, or
	// its context ended: Canceled or DeadlineExceeded. NotFound: the topic or the group was deleted. Unavailable:
	// the node is stopping, or, for a group, leads no longer: subscribe again, anywhere.
	Next(ctx context.Context, room Room) (Batch, error)
	// Ack is for groups. Without an error all of it is in the group's state, on a quorum. A message that this feed
	// was given and that is in flight with no member now counts too. [LateError]: some is in another's hands, or a
	// dead letter; that was dropped, and the rest is stored. An offset that this feed was never given:
	// InvalidArgument, and none of it is done.
	Ack(ctx context.Context, ranges []Range) error
	// Nack gives messages back, to come again after delay nanoseconds to anyone. Without an error the attempt and
	// the delay are in the group's state, on a quorum, so that a leader after this one heeds them. What this feed
	// has no longer is passed over; an offset that it was never given is refused, as by Ack.
	Nack(ctx context.Context, ranges []Range, reason string, delay int64) error
	// Return gives back the last messages that Next gave, which could not be sent. They were not
	// tried, then. For a group's member that is about to Close; for others it does nothing.
	Return(count int)
	Close()
}

// LateError is the answer to an acknowledgement of which a part came too late: another has those messages by now,
// or they are dead letters. The rest is stored. Its code is Conflict, which no other answer to one has.
type LateError struct{ Ranges []Range }

func (e *LateError) Error() string { return status.Public(e.Unwrap()).Message }

// Unwrap gives it its code.
func (e *LateError) Unwrap() error {
	n := uint64(0)
	for _, r := range e.Ranges {
		n += r.Last - r.First + 1
	}
	return status.Errorf(status.Conflict,
		"the acknowledgement of %d messages, from offset %d on, came too late: another has them, or they are dead "+
			"letters; "+
			"the rest is stored",
		n, e.Ranges[0].First)
}

// Late splits the answer to an acknowledgement: what of it came too late, and what else was wrong.
func Late(err error) (ranges []Range, rest error) {
	var late *LateError
	if errors.As(err, &late) {
		return late.Ranges, nil
	}
	return nil, err
}

// OutOfRange is the reason of an [OutOfRangeError], as APIs spell it.
const OutOfRange = "out_of_range"

// OutOfRangeError refuses a beginning beyond a topic's end: the topic is not the one that its reader knew. Its code is
// InvalidArgument, and what tells it from others is its reason.
type OutOfRangeError struct{ Message string }

func (e *OutOfRangeError) Error() string { return e.Unwrap().Error() }

// Unwrap gives it its code.
func (e *OutOfRangeError) Unwrap() error {
	return &status.Error{Code: status.InvalidArgument, Message: e.Message}
}

// Beyond refuses an offset beyond a topic's end.
func Beyond(topic string, offset, next uint64) error {
	return &OutOfRangeError{fmt.Sprintf("offset %d is out of range: topic %s has none from %d on, which is its next; "+
		"it may have been deleted and made again: begin at the oldest or at the tail", offset, topic, next)}
}

// Reason is what an error's code does not tell: [OutOfRange], or "".
func Reason(err error) string {
	var beyond *OutOfRangeError
	if errors.As(err, &beyond) {
		return OutOfRange
	}
	return ""
}

// Strange refuses an acknowledgement of an offset that the subscription was never given.
func Strange(offset uint64) error {
	return status.Errorf(status.InvalidArgument,
		"offset %d was never delivered to this subscription: nothing was acknowledged or given back", offset)
}

// Topic is a topic's state.
type Topic struct {
	Name           string
	ID             uint32
	First, Next    uint64 // the oldest offset kept; the offset of the next message
	Bytes          uint64 // of Run.Messages kept
	Created        int64
	RetentionAge   int64  // nanoseconds; 0: for ever
	RetentionBytes uint64 // 0: all
	Subscribers    int    // on this node
}

// Topics are the topics.
type Topics interface {
	// CreateTopic is no error for one that is there with the same retention; with another it is Conflict.
	// One whose First is not 0 begins at that offset, for a restore, and may be there only empty at it.
	CreateTopic(ctx context.Context, t Topic) (Topic, error)
	ConfigureTopic(ctx context.Context, t Topic) (Topic, error)
	DeleteTopic(ctx context.Context, name string) error
	// Topic reads. Linearizable: what was acknowledged before the call is seen.
	Topic(ctx context.Context, name string, linearizable bool) (Topic, error)
	// ListTopics in order of name, those after a name, at most limit.
	ListTopics(ctx context.Context, prefix, after string, limit int) ([]Topic, error)
}

// Group is a group's state.
type Group struct {
	Topic, Name string
	AckTimeout  int64 // nanoseconds
	MaxAttempts uint32
	Floor       uint64  // all before it is dealt with
	Acked       []Range // above it
	Lag         uint64
	Dead        uint64 // messages that became dead letters
	Trimmed     uint64 // messages that retention took before they were dealt with
	Members     int    // these three: on the leader, since it leads
	InFlight    int
	Redelivered uint64
}

// Groups are the groups.
type Groups interface {
	CreateGroup(ctx context.Context, g Group, start Start) (Group, error)
	SeekGroup(ctx context.Context, topic, name string, to Start) (Group, error)
	DeleteGroup(ctx context.Context, topic, name string) error
	Group(ctx context.Context, topic, name string) (Group, error)
	ListGroups(ctx context.Context, topic string) ([]Group, error)
}

// Member is a node of the cluster.
type Member struct {
	ID               uint64
	Name             string
	Peer, GRPC, HTTP string // addresses
	Learner, Leader  bool
	Match            uint64 // leader only
	Reached          bool   // leader only
}

// Status is the cluster as a node sees it.
type Status struct {
	Node, Leader, Term, Committed, Applied uint64
	// Why callers should go to another node than this, as far as it knows at once; "": they need not.
	Unready string
	// Lineage tells clusters of one name from each other, of which one was recovered from a copy of the other. Nodes
	// tell it each other; 0: it is not told.
	Lineage uint64
	Members []Member
}

// Cluster is who takes part.
type Cluster interface {
	Status(ctx context.Context) (Status, error)
	// Leader is who leads as far as this node knows, without waiting; ok is false when none does.
	Leader() (m Member, ok bool)
	// Join adds a node, as a learner first; it is promoted once it has caught up.
	Join(ctx context.Context, m Member) (Status, error)
	Promote(ctx context.Context, id uint64) (Status, error)
	// Remove takes a member out. Again is no error; one that never was is NotFound.
	Remove(ctx context.Context, id uint64) (Status, error)
	TransferLeadership(ctx context.Context, to uint64) (Status, error)
}
