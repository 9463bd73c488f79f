package result

import (
	"errors"
	"fmt"
	"slices"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Messages is what became of the messages of a trial; of a slice, or of several. A group here is the readers of one
// group.
type Messages struct {
	MessageCounts

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
