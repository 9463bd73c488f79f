package rabbitmq

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// socket is a connection that records everything written to it.
type socket struct {
	net.Conn
	writes []string
	fails  error
	closed atomic.Bool
}

func (s *socket) Write(p []byte) (int, error) {
	if s.fails != nil {
		return 0, s.fails
	}
	s.writes = append(s.writes, string(p))
	return len(p), nil
}

func (*socket) SetWriteDeadline(time.Time) error { return nil }

func (s *socket) Close() error {
	s.closed.Store(true)
	return nil
}

// told records acknowledgements: "3" for one, "3*" for all up to it.
type told struct {
	amqp.Acknowledger
	acks []string
}

func (t *told) Ack(tag uint64, multiple bool) error {
	t.acks = append(t.acks, fmt.Sprint(tag)+map[bool]string{true: "*"}[multiple])
	return nil
}

func (*told) Nack(uint64, bool, bool) error { return nil }

// TestAcknowledgesTogether checks that handled messages are acknowledged together up to the first unhandled one,
// and never that one: a message whose handler runs must be redelivered if the process dies (ms-D05).
func TestAcknowledgesTogether(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		done, none, back []uint64
		all              bool
		want             []string
		more             bool
	}{
		"all of them":                         {done: []uint64{3, 1, 2}, want: []string{"3*"}},
		"one":                                 {done: []uint64{1}, want: []string{"1"}},
		"the first runs":                      {done: []uint64{2, 3}, more: true},
		"one in the middle runs":              {done: []uint64{1, 2, 4}, want: []string{"2*"}, more: true},
		"it has run for too long":             {done: []uint64{1, 2, 4, 5}, all: true, want: []string{"2*", "4", "5"}},
		"a question is not acknowledged":      {done: []uint64{1, 2}, none: []uint64{3}, want: []string{"2*"}},
		"nor holds it up those behind":        {done: []uint64{2}, none: []uint64{1}, want: []string{"2"}},
		"nor does one that went back":         {done: []uint64{1, 3}, back: []uint64{2}, want: []string{"3*"}},
		"nothing is done":                     {none: []uint64{1}, all: true},
		"what went back is not acknowledged":  {back: []uint64{1, 2}, all: true},
		"nor if something behind it is done:": {back: []uint64{2}, done: []uint64{3}, all: true, want: []string{"3"}},
	} {
		t.Run(why, func(t *testing.T) {
			channel := &told{}
			a := newAcks(channel, &bounded{Conn: &socket{}})
			for _, tag := range c.done {
				a.done(tag)
			}
			for _, tag := range c.none {
				a.none(tag)
			}
			for _, tag := range c.back {
				a.back(amqp.Delivery{Acknowledger: channel, DeliveryTag: tag})
			}
			if more := a.send(c.all); more != c.more || !slices.Equal(channel.acks, c.want) {
				t.Errorf("acknowledged %v, more %v; want %v, %v", channel.acks, more, c.want, c.more)
			}
			if want := uint64(len(c.back)); !c.more && a.settled.Load() != want+uint64(len(c.done)) {
				t.Errorf("%d are settled, want %d done and %d given back", a.settled.Load(), len(c.done), want)
			}
			// Each acknowledgement is sent once.
			channel.acks = nil
			if a.send(true); !c.more && channel.acks != nil {
				t.Errorf("acknowledged again: %v", channel.acks)
			}
		})
	}
}

// TestHeldWrites checks that writes during a hold are sent together, in order, on release, and that a failing write
// is reported then and ends the connection.
func TestHeldWrites(t *testing.T) {
	t.Parallel()
	below := &socket{}
	c := &bounded{Conn: below}
	write := func(text string) {
		if _, err := io.WriteString(c, text); err != nil {
			t.Error(err)
		}
	}
	write("a")
	c.hold()
	write("b")
	c.hold()
	write("c")
	if err := c.release(); err != nil || !slices.Equal(below.writes, []string{"a", "bc"}) {
		t.Errorf("one of two released: %q, %v", below.writes, err)
	}
	write("d")
	long := string(make([]byte, keptLimit))
	write(long)
	if err := c.release(); err != nil || !slices.Equal(below.writes, []string{"a", "bc", "d", long}) {
		t.Errorf("released, with more than is kept: %d writes, %v", len(below.writes), err)
	}
	c.hold()
	write("e")
	below.fails = errors.New("broken")
	if err := c.release(); !errors.Is(err, below.fails) || !below.closed.Load() {
		t.Errorf("a write that fails: %v, closed %v", err, below.closed.Load())
	}
}
