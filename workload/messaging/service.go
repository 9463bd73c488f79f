package messaging

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"

	"wirelab"
)

// Service is what a message broker does. See the package comment for the contract.
type Service interface {
	// Publish hands a message over, and returns once it is acknowledged.
	Publish(ctx context.Context, m Message) (Published, error)
	// PublishBatch hands messages of one topic over, and returns once all are acknowledged.
	PublishBatch(ctx context.Context, b Batch) (Published, error)
	// Deliver gives a group its next messages.
	Deliver(ctx context.Context, r Reading) iter.Seq2[Delivered, error]
}

// The bounds of the contract.
const (
	NameLimit    = 64      // bytes of a topic's or a group's name
	BodyLimit    = 1 << 20 // bytes of a message
	BatchLimit   = 1_000   // messages of a batch
	BatchBytes   = 3 << 20 // bytes of a batch
	ReadingLimit = 1_000   // messages of a reading
)

// Message is a message to publish.
type Message struct {
	Topic string
	Body  []byte
}

// Validate returns InvalidArgument for a message outside the contract.
func (m Message) Validate() error { return Batch{Topic: m.Topic, Bodies: [][]byte{m.Body}}.Validate() }

// Batch is messages of one topic.
type Batch struct {
	Topic  string
	Bodies [][]byte
}

// Validate returns InvalidArgument for a batch outside the contract.
func (b Batch) Validate() error {
	if err := validName("topic", b.Topic); err != nil {
		return err
	}
	if n := len(b.Bodies); n < 1 || n > BatchLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "%d messages; want 1 to %d", n, BatchLimit)
	}
	sum := 0
	for i, body := range b.Bodies {
		if len(body) < 1 || len(body) > BodyLimit {
			return wirelab.Errorf(wirelab.InvalidArgument, "message %d has %d bytes; want 1 to %d", i, len(body),
				BodyLimit)
		}
		sum += len(body)
	}
	if sum > BatchBytes {
		return wirelab.Errorf(wirelab.InvalidArgument, "%d bytes in all; want at most %d", sum, BatchBytes)
	}
	return nil
}

// Published tells how many messages were acknowledged.
type Published struct{ Count int }

// Equal reports whether the two are the same.
func (p Published) Equal(other Published) bool { return p == other }

// Reading asks for a group's next messages.
type Reading struct {
	Topic, Group string
	Count        int32 // 1 to ReadingLimit
}

// Validate returns InvalidArgument for a reading outside the contract.
func (r Reading) Validate() error {
	if err := validName("topic", r.Topic); err != nil {
		return err
	}
	if err := validName("group", r.Group); err != nil {
		return err
	}
	if r.Count < 1 || r.Count > ReadingLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "count %d is outside 1 to %d", r.Count, ReadingLimit)
	}
	return nil
}

// Delivered is a message as a group gets it.
type Delivered struct{ Body []byte }

// Equal reports whether the two are the same.
func (d Delivered) Equal(other Delivered) bool { return bytes.Equal(d.Body, other.Body) }

// String shows the beginning of a message.
func (d Delivered) String() string {
	return fmt.Sprintf("{Body:%.40q (%d bytes)}", d.Body, len(d.Body))
}

const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

func validName(what, name string) error {
	if name == "" || len(name) > NameLimit || strings.Trim(name, nameBytes) != "" {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s %.80q is not 1 to %d of A-Z a-z 0-9 _ -", what, name,
			NameLimit)
	}
	return nil
}
