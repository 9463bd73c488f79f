package result

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Messages is what became of the messages of a trial, each followed by its own
// number; of a slice, or of several. A group here is the readers of one group, and
// counts of what arrived are of all groups together.
type Messages struct {
	Sent         uint64 `json:"sent"`
	Acknowledged uint64 `json:"acknowledged"`
	Unsure       uint64 `json:"unsure"` // not acknowledged, so that nobody knows: they may arrive or not
	// Expected is what was to arrive: what was acknowledged, once at each group.
	Expected  uint64 `json:"expected"`
	Delivered uint64 `json:"delivered"`
	Missing   uint64 `json:"missing"` // Expected = Delivered + Missing
	Kept      uint64 `json:"kept"`    // arrived though not acknowledged
	// Duplicated arrived again and Reordered after a later one of the same sender,
	// for no reason; Redelivered and Displaced did so after something had been done
	// to the broker or a reader, or when their sender got no answer, which
	// at-least-once allows.
	Duplicated  uint64 `json:"duplicated"`
	Redelivered uint64 `json:"redelivered"`
	Reordered   uint64 `json:"reordered"`
	Displaced   uint64 `json:"displaced"`
	Corrupted   uint64 `json:"corrupted"` // not as they were sent
	Misrouted   uint64 `json:"misrouted"` // at a group of another topic
	Stray       uint64 `json:"stray"`     // never sent in this trial

	Groups int `json:"groups"` // that read, of all topics
	// AcknowledgedInWindow and DeliveredInWindow are counted when that happened.
	AcknowledgedInWindow uint64 `json:"acknowledged_in_window"`
	DeliveredInWindow    uint64 `json:"delivered_in_window"`
	// Times from when a message was due, in ns, of messages due in the window:
	// until the broker's client had taken it, and until a reader had it.
	AcceptedAfter  *stat.Histogram `json:"accepted_after"`
	DeliveredAfter *stat.Histogram `json:"delivered_after"`
	// SendOutage and DeliveryOutage are the longest times within a window in which
	// nothing was acknowledged, or delivered to one of the groups.
	SendOutage     plan.Duration `json:"send_outage"`
	DeliveryOutage plan.Duration `json:"delivery_outage"`
	// Backlog is how many messages were acknowledged and had not arrived, every
	// BacklogEvery from the first send to the last arrival; a list for each slice. Each is
	// the most of Merged such times, 0 as 1, where there would be more than BacklogLimit.
	Backlog [][]int64 `json:"backlog"`
	Merged  int       `json:"merged,omitempty"`
	// Drained is how long after the window the last message arrived, summed, and
	// DrainedMessages how many arrived after it.
	Drained         plan.Duration `json:"drained"`
	DrainedMessages uint64        `json:"drained_messages"`
	// Broker is what the broker's processes did meanwhile; nil of one that runs elsewhere.
	Broker *BrokerUse `json:"broker,omitempty"`
	// Done is what was done to the broker or its readers.
	Done []Disturbance `json:"done,omitempty"`
}

// BrokerUse is what all processes of a broker used, from the first send of a
// trial to its last arrival.
type BrokerUse struct {
	Written uint64 `json:"written"` // bytes to the device that holds their data, as that counts them, by anybody; 0: not known, or not brought there meanwhile
	Network uint64 `json:"network"` // bytes over the loopback, or over the bridge between nodes on hosts of their own; the driver's among them
	// Memory and Disk are what the processes and their directories held at the end;
	// the growths are slopes over the window, bytes per second, by least squares.
	Memory       uint64  `json:"memory"`
	Disk         uint64  `json:"disk"`
	MemoryGrowth float64 `json:"memory_growth"`
	DiskGrowth   float64 `json:"disk_growth"`
	// Samples is how many readings the growths are of; fewer than GrowthSamples tell nothing.
	Samples int `json:"samples"`
}

// GrowthSamples is how many readings, one a second, a growth needs.
const GrowthSamples = 30

// Two metrics that are shown and never compared, since they may be 0.
const (
	MemoryGrowth = "memory-growth" // bytes of memory per second, of all broker processes
	DiskGrowth   = "disk-growth"   // bytes on disk per second, of all nodes
)

// Disturbance is something that was done while messages were sent.
type Disturbance struct {
	What string `json:"what"` // the scenario
	Who  string `json:"who"`  // "node 2", "reader"
	// Began and Over are times from the window's beginning: when it was done, and
	// when everything was as before. Over is 0 where it never was.
	Began plan.Duration `json:"began"`
	Over  plan.Duration `json:"over"`
	// Again is when, of a broker that something was done to, a message sent after that was
	// over had been acknowledged and each group had been given more; 0 where the window
	// ended before.
	Again plan.Duration `json:"again,omitempty"`
}

// Add returns what became of both.
func (m *Messages) Add(more Messages) *Messages {
	if m == nil {
		m = &Messages{AcceptedAfter: stat.NewHistogram(), DeliveredAfter: stat.NewHistogram()}
	}
	for _, n := range []struct {
		into *uint64
		more uint64
	}{
		{&m.Sent, more.Sent},
		{&m.Acknowledged, more.Acknowledged},
		{&m.Unsure, more.Unsure},
		{&m.Expected, more.Expected},
		{&m.Delivered, more.Delivered},
		{&m.Missing, more.Missing},
		{&m.Kept, more.Kept},
		{&m.Duplicated, more.Duplicated},
		{&m.Redelivered, more.Redelivered},
		{&m.Reordered, more.Reordered},
		{&m.Displaced, more.Displaced},
		{&m.Corrupted, more.Corrupted},
		{&m.Misrouted, more.Misrouted},
		{&m.Stray, more.Stray},
		{&m.AcknowledgedInWindow, more.AcknowledgedInWindow},
		{&m.DeliveredInWindow, more.DeliveredInWindow},
		{&m.DrainedMessages, more.DrainedMessages},
	} {
		*n.into += n.more
	}
	m.Groups = max(m.Groups, more.Groups)
	m.SendOutage = max(m.SendOutage, more.SendOutage)
	m.DeliveryOutage = max(m.DeliveryOutage, more.DeliveryOutage)
	m.Drained += more.Drained
	if more.AcceptedAfter != nil {
		m.AcceptedAfter.Merge(more.AcceptedAfter)
	}
	if more.DeliveredAfter != nil {
		m.DeliveredAfter.Merge(more.DeliveredAfter)
	}
	m.addBacklog(more)
	m.Done = append(slices.Clip(m.Done), more.Done...)
	m.Broker = m.Broker.add(more.Broker)
	return m
}

// addBacklog adds the backlogs of other slices, at the coarser one's step.
func (m *Messages) addBacklog(more Messages) {
	step := max(m.Merged, more.Merged, 1)
	all := make([][]int64, 0, len(m.Backlog)+len(more.Backlog))
	for _, one := range m.Backlog {
		all = append(all, MergeBacklog(one, step/max(m.Merged, 1)))
	}
	for _, one := range more.Backlog {
		all = append(all, MergeBacklog(one, step/max(more.Merged, 1)))
	}
	m.Backlog, m.Merged = all, step
	if step == 1 {
		m.Merged = 0
	}
}

// MergeBacklog returns a backlog with each so many neighbours as one, the most of them.
func MergeBacklog(all []int64, each int) (merged []int64) {
	if each <= 1 {
		return all
	}
	for some := range slices.Chunk(all, each) {
		merged = append(merged, slices.Max(some))
	}
	return merged
}

// add returns what was used in both; growths are of the longer one.
func (b *BrokerUse) add(more *BrokerUse) *BrokerUse {
	if more == nil {
		return b
	}
	if b == nil {
		b = &BrokerUse{}
	}
	b.Written += more.Written
	b.Network += more.Network
	b.Memory, b.Disk = max(b.Memory, more.Memory), max(b.Disk, more.Disk)
	if more.Samples > b.Samples {
		b.MemoryGrowth, b.DiskGrowth, b.Samples = more.MemoryGrowth, more.DiskGrowth, more.Samples
	}
	return b
}

// Faults is how many messages the broker did wrong by.
func (m *Messages) Faults() uint64 {
	return m.Missing + m.Duplicated + m.Reordered + m.Corrupted + m.Misrouted + m.Stray
}

// Peak is the largest backlog.
func (m *Messages) Peak() (most int64) {
	for _, one := range m.Backlog {
		for _, n := range one {
			most = max(most, n)
		}
	}
	return most
}

// Whole returns an error that says what is wrong with the sums, nil if nothing
// is: a stored result may have been edited.
func (m *Messages) Whole() error {
	switch {
	case m.Acknowledged+m.Unsure != m.Sent:
		return fmt.Errorf("%d acknowledged and %d unsure of %d sent", m.Acknowledged, m.Unsure, m.Sent)
	case m.Delivered+m.Missing != m.Expected:
		return fmt.Errorf("%d delivered and %d missing of %d expected", m.Delivered, m.Missing, m.Expected)
	case m.Groups == 0 && m.Expected > 0 || m.Expected > m.Acknowledged*uint64(m.Groups):
		return fmt.Errorf("%d expected of %d acknowledged, at %d groups", m.Expected, m.Acknowledged, m.Groups)
	case m.AcknowledgedInWindow > m.Acknowledged || m.DeliveredInWindow > m.Delivered+m.Kept:
		return errors.New("more in the window than there are")
	case m.Merged < 0:
		return fmt.Errorf("%d readings in one of the backlog", m.Merged)
	case m.AcceptedAfter == nil || m.DeliveredAfter == nil || m.DeliveredAfter.Count() > m.Delivered+m.Kept:
		return errors.New("the times are of more messages than are counted")
	}
	return nil
}

// messageFlaws checks that what became of messages adds up, and with the calls.
func messageFlaws(path string, t *Trial, load plan.Load, add func(path, format string, args ...any)) {
	here := load.Kind() == plan.Messages
	switch m := t.Messages; {
	case here && m == nil:
		add(path+".messages", "its load sends messages, and what became of them is not there")
	case m == nil:
	case !here:
		add(path+".messages", "its load sends no messages")
	default:
		if err := m.Whole(); err != nil {
			add(path+".messages", "%v", err)
		}
		if batch := uint64(max(load.Batch, 1)); m.Sent < t.Sent*batch {
			add(path+".messages", "%d were sent by %d calls of %d each", m.Sent, t.Sent, batch)
		}
	}
}

// messageMetrics are those of loads of messages.
func messageMetrics() []Metric {
	of := func(m Metric, take func(*Trial, *Messages) (float64, bool)) Metric {
		m.Closed, m.Open, m.Optional = true, true, true
		m.take = func(t *Trial) (float64, bool) {
			if t.Messages == nil {
				return 0, false
			}
			return take(t, t.Messages)
		}
		return m
	}
	rate := func(id, title, short string, count func(*Messages) uint64) Metric {
		return of(Metric{ID: id, Title: title, Short: short, Dimension: Frequency, Higher: true, Gain: "faster", Loss: "slower"},
			func(t *Trial, m *Messages) (float64, bool) {
				return float64(count(m)) / time.Duration(t.Window).Seconds(), t.Window > 0 && count(m) > 0
			})
	}
	acknowledged := rate(plan.MessageRate, "messages acknowledged per second", "message rate", func(m *Messages) uint64 { return m.AcknowledgedInWindow })
	acknowledged.Open = false
	all := []Metric{acknowledged, rate(plan.DeliveredRate, "messages delivered per second", "delivery rate", func(m *Messages) uint64 { return m.DeliveredInWindow })}
	all = append(all, messageTimes()...)
	outage := func(id, title, short string, take func(*Messages) plan.Duration) Metric {
		return of(Metric{ID: id, Title: title, Short: short, Dimension: Time, Gain: "shorter", Loss: "longer"},
			func(_ *Trial, m *Messages) (float64, bool) { return float64(take(m)), take(m) > 0 })
	}
	all = append(all,
		outage(plan.SendOutage, "longest time without an acknowledgement", "send outage", func(m *Messages) plan.Duration { return m.SendOutage }),
		outage(plan.DeliveryOutage, "longest time without a delivery", "delivery outage", func(m *Messages) plan.Duration { return m.DeliveryOutage }),
		of(Metric{ID: plan.DrainRate, Title: "messages of a backlog read per second", Short: "drain rate", Dimension: Frequency, Higher: true, Gain: "faster", Loss: "slower"}, drainRate),
	)
	return append(all, brokerMetrics(of)...)
}

// perMessageWords makes words of calls those of messages. A server is the broker
// here, all its processes, and a reply the acknowledgement.
func perMessageWords(text string) string {
	for _, q := range []string{"p50", "p90", "p99", "p99.9"} {
		switch text {
		case q + " response time", "response " + q:
			return "acknowledged " + q
		}
	}
	return strings.NewReplacer(
		"per request", "per message", "/req", "/msg", "server CPU", "broker CPU",
		"mean response time", "mean time to the acknowledgement", "response mean", "acknowledged mean",
	).Replace(text)
}

// messageTimes are the quantiles of what became of messages.
func messageTimes() []Metric {
	accepted := func(m *Messages) *stat.Histogram { return m.AcceptedAfter }
	delivered := func(m *Messages) *stat.Histogram { return m.DeliveredAfter }
	var all []Metric
	for _, q := range []struct {
		id, title string
		at        float64
		of        func(*Messages) *stat.Histogram
	}{
		{plan.AcceptedP50, "accepted p50", 0.5, accepted},
		{plan.AcceptedP99, "accepted p99", 0.99, accepted},
		{plan.DeliveredP50, "delivered p50", 0.5, delivered},
		{plan.DeliveredP90, "delivered p90", 0.9, delivered},
		{plan.DeliveredP99, "delivered p99", 0.99, delivered},
		{plan.DeliveredP999, "delivered p99.9", 0.999, delivered},
	} {
		all = append(all, Metric{
			ID: q.id, Title: q.title, Short: q.title, Dimension: Time, Gain: "faster", Loss: "slower",
			Closed: true, Open: true, Optional: true, Quantile: q.at, of: func(t *Trial) *stat.Histogram {
				if t.Messages == nil {
					return nil
				}
				return q.of(t.Messages)
			},
		})
	}
	return all
}

// drainLeast is how many messages must have been left at the window's end for the
// rate at which they were read to say something.
const drainLeast = 1000

func drainRate(_ *Trial, m *Messages) (float64, bool) {
	if m.DrainedMessages < drainLeast || m.Drained <= 0 {
		return 0, false
	}
	return float64(m.DrainedMessages) / time.Duration(m.Drained).Seconds(), true
}

// brokerMetrics are those of what the broker's processes did.
func brokerMetrics(of func(Metric, func(*Trial, *Messages) (float64, bool)) Metric) []Metric {
	perMessage := func(id, title, short string, total func(*BrokerUse) uint64) Metric {
		return of(Metric{ID: id, Title: "bytes " + title + " per message", Short: short + "/msg", Dimension: Size, Gain: "fewer", Loss: "more"},
			func(_ *Trial, m *Messages) (float64, bool) {
				if m.Broker == nil || m.Sent == 0 || total(m.Broker) == 0 {
					return 0, false
				}
				return float64(total(m.Broker)) / float64(m.Sent), true
			})
	}
	growth := func(id, title string, slope func(*BrokerUse) float64) Metric {
		m := of(Metric{ID: id, Title: title, Short: title, Dimension: Size, Gain: "slower", Loss: "faster"},
			func(_ *Trial, m *Messages) (float64, bool) {
				if m.Broker == nil || m.Broker.Samples < GrowthSamples {
					return 0, false
				}
				return max(0, slope(m.Broker)), true
			})
		m.Counted, m.Averaged = true, true // it may be 0, of which there is no ratio
		return m
	}
	return []Metric{
		perMessage(plan.DiskPerMessage, "written to disk", "disk", func(b *BrokerUse) uint64 { return b.Written }),
		perMessage(plan.NetworkPerMessage, "over the network", "network", func(b *BrokerUse) uint64 { return b.Network }),
		growth(MemoryGrowth, "memory growth per second", func(b *BrokerUse) float64 { return b.MemoryGrowth }),
		growth(DiskGrowth, "disk growth per second", func(b *BrokerUse) float64 { return b.DiskGrowth }),
	}
}
