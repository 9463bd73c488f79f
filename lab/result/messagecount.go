package result

import "strings"

// MessageCounts counts messages by what happened to them. Each message is tracked by its own number. Counts of
// arrivals are for all groups together. [MessageCounters] describes each count.
type MessageCounts struct {
	Sent         uint64 `json:"sent"` // handed to the broker, with any outcome
	Acknowledged uint64 `json:"acknowledged"`
	Unsure       uint64 `json:"unsure"` // not acknowledged: they may or may not arrive
	// Expected is the number of arrivals to expect: each acknowledged message once at each group.
	Expected  uint64 `json:"expected"`
	Delivered uint64 `json:"delivered"`
	Missing   uint64 `json:"missing"` // Expected = Delivered + Missing
	Kept      uint64 `json:"kept"`    // arrived although not acknowledged
	// Duplicated messages arrived again, and Reordered ones after a later one of the same sender, without an excuse.
	// For Redelivered and Displaced there was an excuse: a fault at the broker or a reader, or no answer to their
	// sender. At-least-once delivery allows these.
	Duplicated  uint64 `json:"duplicated"`
	Redelivered uint64 `json:"redelivered"`
	Reordered   uint64 `json:"reordered"`
	Displaced   uint64 `json:"displaced"`
	Corrupted   uint64 `json:"corrupted"` // changed on the way
	Misrouted   uint64 `json:"misrouted"` // arrived at a group of another topic
	Stray       uint64 `json:"stray"`     // from another run, or never sent
}

// Column says when a count has a column in tables.
type Column int

// The choices for a column.
const (
	NoColumn     Column = iota
	ColumnIfAny         // only if an arm has any
	ColumnAlways        //
)

// MessageCounter describes one count of [MessageCounts]. Code that adds, shows or exports counts uses this table, so
// a new count is one field and one line here.
type MessageCounter struct {
	Name   string // the name in JSON, tables and exports
	Of     func(*MessageCounts) *uint64
	Column Column
	// Fault says what a broker must not do to a message but did; "" if the count is not a fault. An arm with any
	// fault gets no figure.
	Fault string
	// Note follows the number in the notes on an arm that has any; "" if a table is enough.
	Note string
	// Means explains a column that is rarely shown; "" if its name is clear.
	Means string
}

// MessageCounters returns all counts in the order of reports and exports. Each is a sum over slices, rounds and
// groups.
func MessageCounters() []MessageCounter {
	return []MessageCounter{
		{Name: "sent", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Sent }},
		{Name: "acknowledged", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Acknowledged }},
		{
			Name: "unsure", Column: ColumnIfAny, Of: func(c *MessageCounts) *uint64 { return &c.Unsure },
			Note: "messages were not acknowledged, so it is not known whether they were delivered",
		},
		{Name: "expected", Of: func(c *MessageCounts) *uint64 { return &c.Expected }},
		{Name: "delivered", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Delivered }},
		{
			Name: "missing", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Missing },
			Fault: "acknowledged but never delivered",
		},
		{
			Name: "kept", Of: func(c *MessageCounts) *uint64 { return &c.Kept },
			Note: "messages were delivered although they had not been acknowledged",
		},
		{
			Name: "duplicated", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Duplicated },
			Fault: "delivered again for no reason",
		},
		{Name: "redelivered", Column: ColumnIfAny, Of: func(c *MessageCounts) *uint64 { return &c.Redelivered }},
		{
			Name: "reordered", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Reordered },
			Fault: "delivered out of order for no reason",
		},
		{Name: "displaced", Column: ColumnIfAny, Of: func(c *MessageCounts) *uint64 { return &c.Displaced }},
		{
			Name: "corrupted", Column: ColumnIfAny, Of: func(c *MessageCounts) *uint64 { return &c.Corrupted },
			Fault: "not as they were sent", Means: "not as it was sent",
		},
		{
			Name: "misrouted", Column: ColumnIfAny, Of: func(c *MessageCounts) *uint64 { return &c.Misrouted },
			Fault: "delivered under another topic", Means: "delivered to a group of another topic",
		},
		{
			Name: "stray", Column: ColumnIfAny, Of: func(c *MessageCounts) *uint64 { return &c.Stray },
			Fault: "delivered that were never sent", Means: "delivered, but never sent in this trial",
		},
	}
}

// AddCounts adds other counts.
func (c *MessageCounts) AddCounts(more MessageCounts) {
	for _, counter := range MessageCounters() {
		*counter.Of(c) += *counter.Of(&more)
	}
}

// Faults is the number of messages with a fault of the broker.
func (c MessageCounts) Faults() (n uint64) {
	for _, counter := range MessageCounters() {
		if counter.Fault != "" {
			n += *counter.Of(&c)
		}
	}
	return n
}

// FaultWords lists the faults that occurred, separated by commas.
func (c MessageCounts) FaultWords(say func(n uint64, of MessageCounter) string) string {
	var all []string
	for _, counter := range MessageCounters() {
		if n := *counter.Of(&c); counter.Fault != "" && n > 0 {
			all = append(all, say(n, counter))
		}
	}
	return strings.Join(all, ", ")
}
