package result

import (
	"errors"
	"fmt"
	"slices"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Messages is what happened to the messages of a trial, of a slice or of several. Each group counts separately.
type Messages struct {
	MessageCounts

	Groups int `json:"groups"` // the groups that read, over all topics
	// AcknowledgedInWindow and DeliveredInWindow are counted at the time of the event.
	AcknowledgedInWindow uint64 `json:"acknowledged_in_window"`
	DeliveredInWindow    uint64 `json:"delivered_in_window"`
	// Times from when a message was due, in ns, of messages due in the window: until the broker's client accepted it,
	// and until a reader received it.
	AcceptedAfter  *stat.Histogram `json:"accepted_after"`
	DeliveredAfter *stat.Histogram `json:"delivered_after"`
	// SendOutage and DeliveryOutage are the longest times within a window without an acknowledgement, and without a
	// delivery at one of the groups.
	SendOutage     plan.Duration `json:"send_outage"`
	DeliveryOutage plan.Duration `json:"delivery_outage"`
	// Backlog is the number of messages that were acknowledged but had not arrived, every BacklogEvery from the first
	// send to the last arrival; a list for each slice. If there would be more than BacklogLimit values, each is the
	// maximum of Merged readings. Merged 0 means 1.
	Backlog [][]int64 `json:"backlog"`
	Merged  int       `json:"merged,omitempty"`
	// Drained is how long after the window the last message arrived, summed over slices, and DrainedMessages is how
	// many arrived after it.
	Drained         plan.Duration `json:"drained"`
	DrainedMessages uint64        `json:"drained_messages"`
	// Broker is the resource use of the broker's processes in that time; nil if the broker runs elsewhere.
	Broker *BrokerUse `json:"broker,omitempty"`
	// Done lists the faults injected into the broker or its readers.
	Done []Disturbance `json:"done,omitempty"`
}

// BrokerUse is the resource use of all processes of a broker, from the first send of a trial to its last arrival.
type BrokerUse struct {
	Written uint64 `json:"written"` // bytes written to the device of their data, by any process; 0: unknown, or nothing written yet
	Network uint64 `json:"network"` // bytes over the loopback, or over the bridge between nodes on separate hosts, including the driver's
	// Memory and Disk are the sizes of the processes and their directories at the end. The growths are slopes over
	// the window, in bytes per second, by least squares.
	Memory       uint64  `json:"memory"`
	Disk         uint64  `json:"disk"`
	MemoryGrowth float64 `json:"memory_growth"`
	DiskGrowth   float64 `json:"disk_growth"`
	// Samples is the number of readings for the growths. With fewer than GrowthSamples they mean nothing.
	Samples int `json:"samples"`
}

// GrowthSamples is the minimum number of readings, one a second, for a growth.
const GrowthSamples = 30

// Disturbance is a fault that was injected while messages were sent.
type Disturbance struct {
	What string `json:"what"` // the scenario
	Who  string `json:"who"`  // "node 2", "reader"
	// Began and Over are times from the beginning of the window: when the fault was injected, and when it was removed
	// and everything was as before. Over is 0 if that did not happen.
	Began plan.Duration `json:"began"`
	Over  plan.Duration `json:"over"`
	// Again is when the broker had recovered: a message sent after the fault's end had been acknowledged, and each
	// group had received more. It is 0 if the window ended before.
	Again plan.Duration `json:"again,omitempty"`
}

// Add returns the sum of both.
func (m *Messages) Add(more Messages) *Messages {
	if m == nil {
		m = &Messages{AcceptedAfter: stat.NewHistogram(), DeliveredAfter: stat.NewHistogram()}
	}
	m.AddCounts(more.MessageCounts)
	m.AcknowledgedInWindow += more.AcknowledgedInWindow
	m.DeliveredInWindow += more.DeliveredInWindow
	m.DrainedMessages += more.DrainedMessages
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

// addBacklog adds the backlogs of other slices, at the coarser of the two steps.
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

// MergeBacklog merges each neighbours of a backlog to one value, their maximum.
func MergeBacklog(all []int64, each int) (merged []int64) {
	if each <= 1 {
		return all
	}
	for some := range slices.Chunk(all, each) {
		merged = append(merged, slices.Max(some))
	}
	return merged
}

// add returns the sum of both. The growths are those with more readings.
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

// Peak is the largest backlog.
func (m *Messages) Peak() (most int64) {
	for _, one := range m.Backlog {
		for _, n := range one {
			most = max(most, n)
		}
	}
	return most
}

// Whole returns an error that says which sums are inconsistent, or nil. A stored result may have been edited.
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
