package drive_test

import (
	"context"
	"io"
	"testing"
	"time"

	"wirelab/broker"
	"wirelab/broker/brokertest"
	"wirelab/broker/memory"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/messaging/account"
	"wirelab/lab/messaging/drive"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// runner is the other end of a driver's lines.
type runner struct {
	*testing.T
	orders  *io.PipeWriter
	replies *process.Reader[control.Reply]
}

// drives starts a driver of a broker. The driver ends with the test.
func drives(t *testing.T, o drive.Options) *runner {
	t.Helper()
	in, orders := io.Pipe()
	replies, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := drive.Obey(t.Context(), o, in, out)
		_ = out.Close()
		ended <- err
	}()
	c := &runner{t, orders, process.NewReader[control.Reply](replies)}
	t.Cleanup(func() {
		_ = orders.Close()
		if err := <-ended; err != nil {
			t.Errorf("the driver ended with %v", err)
		}
	})
	if r, err := c.replies.Read(); err != nil || r.Ready == nil {
		t.Fatal(r, err)
	}
	return c
}

func (c *runner) ask(o control.Order) control.Reply {
	c.Helper()
	if err := process.WriteLine(c.orders, o); err != nil {
		c.Fatal(err)
	}
	r, err := c.replies.Read()
	if err != nil {
		c.Fatal(err)
	}
	return r
}

func (c *runner) must(o control.Order) control.Reply {
	c.Helper()
	r := c.ask(o)
	if r.Error != "" {
		c.Fatal(r.Error)
	}
	return r
}

// dialled is a load of messages at a rate, or in a closed loop of 4 if rate is 0.
func dialled(m control.Messages, rate float64) *control.Dial {
	l := control.Load{Operation: "Publish", InFlight: 4, Connections: 2, Messages: m}
	if rate > 0 {
		l.InFlight = 64
		l.Schedule = &load.Schedule{Stages: []load.Stage{{From: rate, To: rate}}}
	}
	return &control.Dial{
		Workload: "messaging", Protocol: "memory", Address: "nowhere", Seed: 1, Deadline: plan.Duration(time.Minute),
		Broker: &control.Broker{Durability: plan.DurabilityFsync}, Loads: []control.Load{l},
	}
}

// opens makes a driver use b, whatever address it gets.
func opens(b broker.Broker) drive.Options {
	return drive.Options{
		Open: func(context.Context, string, broker.Config) (broker.Broker, error) { return b, nil },
		// The wait for lost messages. A busy machine may be silent for a second.
		Patience: 3 * time.Second,
	}
}

// scenes has the scenarios that need neither a reader process nor a broker of several nodes.
func scenes() map[string]control.Messages {
	all := map[string]control.Messages{}
	for _, s := range []string{
		plan.Live, plan.Slow, plan.Disk, plan.Late, plan.Isolation, plan.Fanout,
		plan.Sustained,
	} {
		m := control.Messages{Scenario: s, Size: 64, Batch: 1, Groups: 1}
		switch s {
		case plan.Slow:
			m.Delay = plan.Duration(20 * time.Microsecond)
		case plan.Fanout:
			m.Groups = 3
		case plan.Live:
			m.Batch = 10
		}
		all[s] = m
	}
	return all
}

func TestScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for name, what := range scenes() {
		for loop, rate := range map[string]float64{"closed": 0, "open": 5000} {
			if what.Delay > 0 && rate == 0 {
				continue // a closed loop without a limit builds up a backlog that takes too long to read
			}
			t.Run(name+" "+loop, func(t *testing.T) {
				c := drives(t, opens(memory.New()))
				c.must(control.Order{Dial: dialled(what, rate)})
				if w := c.must(
					control.Order{Warm: &control.Warm{Load: 0, Least: plan.Duration(100 * time.Millisecond)}},
				).Warm; w == nil ||
					w.Windows < 20 {
					t.Errorf("warmed up by %+v", w)
				}
				var m *control.Measured
				// On a busy machine a short window may see no send or no read.
				for window := plan.Duration(300 * time.Millisecond); window < plan.Duration(time.Minute); window *= 4 {
					m = c.must(control.Order{Slice: &control.Slice{
						Load: 0, For: window, Head: window / 10,
						Seed: 2,
					}}).Slice
					if m.Messages.Sent >= 100 && m.Recording.OK > 0 &&
						(what.Scenario != plan.Live || m.Messages.DeliveredInWindow > 0) {
						break
					}
				}
				judge(t, what, m)
				c.must(control.Order{Leave: &struct{}{}})
			})
		}
	}
}

// judge checks that the measurements of a correct broker add up.
func judge(t *testing.T, what control.Messages, measured *control.Measured) {
	t.Helper()
	m, rec := measured.Messages, measured.Recording
	if err := m.Whole(); err != nil {
		t.Error(err)
	}
	if m.Faults() != 0 || m.Unsure != 0 || m.Redelivered+m.Displaced+m.Kept != 0 {
		t.Errorf("a correct broker: %+v", m)
	}
	groups := uint64(what.Groups)
	if m.Sent < 100 || m.Expected != m.Sent*groups || m.Delivered != m.Expected {
		t.Errorf("%d sent, %d expected, %d delivered at %d groups", m.Sent, m.Expected, m.Delivered, groups)
	}
	if rec.OK == 0 || m.Sent < rec.OK*uint64(what.Batch) || m.AcknowledgedInWindow > m.Sent ||
		measured.Calls != m.Sent {
		t.Errorf("%d sends of %d: %d messages, %d in the window", rec.OK, what.Batch, m.Sent, m.AcknowledgedInWindow)
	}
	// The messages of sends that were due in the window are timed.
	if want := rec.Sent * uint64(what.Batch) * groups; m.DeliveredAfter.Count() != want {
		t.Errorf("%d deliveries timed of %d due in the window", m.DeliveredAfter.Count(), want)
	}
	if m.AcceptedAfter.Count() != rec.Sent {
		t.Errorf("%d sends timed until accepted, of %d", m.AcceptedAfter.Count(), rec.Sent)
	}
	if what.Scenario == plan.Disk &&
		(m.DeliveredInWindow != 0 || m.DrainedMessages != m.Delivered ||
			m.DeliveryOutage < plan.Duration(250*time.Millisecond)) {
		t.Errorf("messages were read within the window: %+v", m)
	}
	if readers := what.Scenario; readers == plan.Live && m.DeliveredInWindow == 0 {
		t.Error("nothing was delivered within the window")
	}
}

// A broker loses, duplicates, swaps or changes one acknowledged message in 10,000. The account shows it in every
// scenario (docs/origins.md hb-M04, hb-M05).
func TestEachFaultIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute; make test runs it")
	}
	t.Parallel()
	const every = 10_000
	for name, what := range scenes() {
		for _, fault := range brokertest.Faults() {
			t.Run(name+" "+string(fault), func(t *testing.T) {
				t.Parallel() // the driver waits for the lost messages
				faulty := &brokertest.Faulty{Broker: memory.New(), Fault: fault, Every: every, Sender: sender}
				c := drives(t, opens(faulty))
				what := what
				what.Delay, what.Batch = 0, 10 // a closed loop without a limit sends enough messages
				dial := dialled(what, 0)
				c.must(control.Order{Dial: dial})
				var all *result.Messages
				for deadline := time.Now().Add(3 * time.Minute); faulty.Done.Load() < 3 &&
					time.Now().Before(deadline); {
					m := c.must(
						control.Order{Slice: &control.Slice{
							Load: 0, For: plan.Duration(400 * time.Millisecond),
							Seed: 2,
						}},
					).Slice
					all = all.Add(*m.Messages)
				}
				caught := map[brokertest.Fault]uint64{
					brokertest.Lose: all.Missing, brokertest.Double: all.Duplicated,
					brokertest.Reorder: all.Reordered + all.Missing, brokertest.Corrupt: all.Corrupted,
				}[fault]
				if done := faulty.Done.Load(); caught != done || done < 3 {
					t.Errorf("%d faults done, %d caught: %+v", done, caught, all)
				}
			})
		}
	}
}

// A broker that mixes up topics is detected even with one publisher, whether that publisher waits for answers or not.
func TestIsolationSendsUnderEachTopic(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for _, width := range []int{1, 4} {
		c := drives(t, opens(crosses{memory.New()}))
		dial := dialled(scenes()[plan.Isolation], 0)
		dial.Loads[0].Connections, dial.Loads[0].InFlight = 1, width
		c.must(control.Order{Dial: dial})
		m := c.must(
			control.Order{Slice: &control.Slice{Load: 0, For: plan.Duration(100 * time.Millisecond), Seed: 2}},
		).Slice.Messages
		if m.Misrouted == 0 || m.Missing < m.Misrouted || m.Delivered == 0 {
			t.Errorf("%d under way: %+v, want half of the messages misrouted", width, m)
		}
	}
}

// sender is the sequence of a message.
func sender(body []byte) uint64 {
	s, _ := account.Read(body)
	return uint64(s.Sequence)
}

func TestOrdersThatCannotBe(t *testing.T) {
	t.Parallel()
	c := drives(t, opens(memory.New()))
	for name, o := range map[string]control.Order{
		"nothing":   {},
		"no load":   {Slice: &control.Slice{Load: 0}},
		"no broker": {Dial: &control.Dial{}},
		"too small": {Dial: dialled(control.Messages{Scenario: plan.Live, Size: 5, Batch: 1, Groups: 1}, 0)},
		"too large": {Dial: dialled(control.Messages{Scenario: plan.Live, Size: 1 << 21, Batch: 1, Groups: 1}, 0)},
	} {
		if r := c.ask(o); r.Error == "" {
			t.Errorf("%s: %+v, want an error", name, r)
		}
	}
}

// Failed sends are counted by their codes, and their messages as unsure.
func TestBrokerThatRefuses(t *testing.T) {
	t.Parallel()
	refusing := &refuses{Broker: memory.New()}
	c := drives(t, opens(refusing))
	c.must(control.Order{Dial: dialled(scenes()[plan.Isolation], 2000)})
	refusing.on.Store(true)
	m := c.must(control.Order{Slice: &control.Slice{
		Load: 0, For: plan.Duration(200 * time.Millisecond),
		Seed: 2,
	}}).Slice
	if n := m.Recording.Errors["unavailable"]; n == 0 || n != m.Recording.Sent ||
		m.Messages.Unsure != m.Messages.Sent ||
		m.Messages.Faults() != 0 {
		t.Errorf("%v of %d sends failed; %+v", m.Recording.Errors, m.Recording.Sent, m.Messages)
	}
}
