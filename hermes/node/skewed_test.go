package node_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/vfs"
	"wirelab/wire/status"
)

// keeps is what a topic keeps.
func keeps(t *testing.T, c *cluster, topic string) broker.Topic {
	t.Helper()
	s, err := c.nodes[c.settled()].Topic(t.Context(), topic, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// off is how far a time of the log is from the true one.
func off(at int64) time.Duration { return time.Duration(at - time.Now().UnixNano()) }

const (
	bound = 5 * time.Second // what clocks may be off
	age   = 30 * time.Minute
)

// setClock sets a node's wall clock, as an administrator does.
func (c *cluster) setClock(id uint64, ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead[id] = ahead
}

// skewedCluster has a topic of messages that are young, and a node whose clock was set before it was started.
func skewedCluster(t *testing.T, ahead time.Duration) (c *cluster, skewed uint64) {
	t.Helper()
	c = newCluster(t, 3)
	create(t, c.nodes[c.settled()], broker.Topic{Name: "a", RetentionAge: int64(age)})
	for i := range 50 {
		publish(t, c.nodes[c.settled()], "a", fmt.Sprint(i))
	}
	skewed = c.follower()
	c.halt(skewed)
	c.setClock(skewed, ahead)
	return c, skewed
}

// TestClockOff: a node whose clock is off does not lead, and says so, until the clock is set right.
func TestClockOff(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			c, skewed := skewedCluster(t, ahead)
			c.restart(skewed)
			n := c.nodes[skewed]
			until(t, "a word of the clock", func() bool {
				err := n.Ready(t.Context())
				return err != nil && strings.Contains(err.Error(), "the clock of this machine is") &&
					strings.Contains(err.Error(),
						"1h0m0")
			})
			if s := stats(t, n); !s.ClockOff || s.ClockAhead-ahead > bound || ahead-s.ClockAhead > bound {
				t.Errorf("it tells %v, off %v", s.ClockAhead, s.ClockOff)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if _, err := n.TransferLeadership(ctx, skewed); status.CodeOf(err) != status.Unavailable {
				t.Errorf("leadership was handed to it: %v", err)
			}
			v := publish(t, n, "a", "young")
			if d := off(v.Time); d > bound || d < -bound {
				t.Errorf("a message is stored with a time that is off by %v", d)
			}
			if s := keeps(t, c, "a"); s.First != 0 || s.Next != 51 {
				t.Errorf("the topic keeps %d to %d", s.First, s.Next)
			}
			c.setClock(skewed, 0)
			until(t, "the node to follow its clock", func() bool { return n.Ready(t.Context()) == nil })
			_, _ = n.TransferLeadership(ctx, skewed) // it learns that the leader changed, at the latest
			until(t, "it to lead", func() bool {
				m, ok := n.Leader()
				return ok && m.ID == skewed
			})
		})
	}
}

// TestClockOffMustLead: a node whose clock is off leads where no other node can: with the time of the others.
// No message goes before its age, none is stored with a time that is off, and when all are back another leads
// and retention continues.
func TestClockOffMustLead(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			c, skewed := skewedCluster(t, ahead)
			c.restart(skewed)
			first := c.settled()
			late := 6 - skewed - first
			c.halt(late)
			v := publish(t, c.nodes[first], "a", "of two")
			until(t, "the skewed node to have it", func() bool {
				s, err := c.nodes[skewed].Topic(t.Context(), "a", false)
				return err == nil && s.Next == 51
			})
			c.halt(first)
			c.restart(late)
			until(t, "the node that has all to lead", func() bool {
				m, ok := c.nodes[late].Leader()
				return ok && m.ID == skewed
			})
			var w broker.Verdict
			until(t, "a message", func() bool {
				w = brokertest.Publish(t.Context(), c.nodes[late],
					broker.Run{
						Topic: "a", Messages: brokertest.Messages("young"),
						Count: 1,
					})
				return w.Err == nil
			})
			if d := off(w.Time); d > bound || d < -bound || w.Time < v.Time {
				t.Errorf("it stores with a time that is off by %v, after %d with %d", d, v.Time, w.Time)
			}
			c.restart(first)
			until(t, "another leader", func() bool {
				m, ok := c.nodes[late].Leader()
				return ok && m.ID != skewed
			})
			w = publish(t, c.nodes[late], "a", "younger")
			if d := off(w.Time); d > bound || d < -bound {
				t.Errorf("afterwards the time is off by %v", d)
			}
			s := keeps(t, c, "a")
			if s.First != 0 || s.Next < 53 {
				t.Errorf("the topic keeps %d to %d", s.First, s.Next)
			}
			if _, err := c.nodes[first].ConfigureTopic(t.Context(),
				broker.Topic{Name: "a", RetentionAge: 1}); err != nil {
				t.Fatal(err)
			}
			until(t, "retention", func() bool { return keeps(t, c, "a").First == s.Next })
		})
	}
}

// TestClockAlone: a cluster of one has its own clock and no other, and its retention works.
func TestClockAlone(t *testing.T) {
	o := options(vfs.NewMemory())
	o.Clock = func() time.Time { return time.Now().Add(time.Hour) }
	n := open(t, o)
	create(t, n, broker.Topic{Name: "a", RetentionAge: 1})
	publish(t, n, "a", "0")
	until(t, "retention", func() bool {
		s, err := n.Topic(t.Context(), "a", true)
		return err == nil && s.First == 1
	})
	if err := n.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestClockJumps: a clock that does not go on from the log's time is reported at the start.
func TestClockJumps(t *testing.T) {
	fs := vfs.NewMemory()
	o := options(fs)
	n := start(t, o)
	create(t, n, broker.Topic{Name: "a"})
	publish(t, n, "a", "0")
	stop(t, n)
	for _, c := range []struct {
		ahead time.Duration
		says  string
	}{
		{time.Minute, ""},
		{-time.Hour, "the log's time is ahead of this machine's"},
		{2 * time.Hour, "the log ends long before this machine's time"},
	} {
		var said bytes.Buffer // written before Open returns, as far as it matters
		o.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		o.Clock = func() time.Time { return time.Now().Add(c.ahead) }
		n := start(t, o)
		stop(t, n)
		if text := said.String(); (c.says == "") != (text == "") || !strings.Contains(text, c.says) {
			t.Errorf("a clock that is ahead by %v is reported as %q", c.ahead, text)
		}
	}
}
