package result

import "strings"

// MessageCounts is how many messages became what, each followed by its own number. Counts of what arrived are of all
// groups together. [MessageCounters] says all else of each count.
type MessageCounts struct {
	Sent         uint64 `json:"sent"` // handed to the broker, whatever became of them
	Acknowledged uint64 `json:"acknowledged"`
	Unsure       uint64 `json:"unsure"` // not acknowledged: they may arrive or not
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
	Stray       uint64 `json:"stray"`     // of another run, or never sent
}

// Column is when a count has a column in tables.
type Column int

// The columns that there are.
const (
	NoColumn     Column = iota
	ColumnIfAny         // only where an arm has some
	ColumnAlways        //
)

// MessageCounter is one count of [MessageCounts]. Code that adds, shows or exports counts goes by this table: a new
// count is a field and a line here.
type MessageCounter struct {
	Name   string // in JSON, tables and exports
	Of     func(*MessageCounts) *uint64
	Column Column
	// Fault says what a broker did to such messages, where it may not; "" of what is no fault. An arm with any has no
	// figure.
	Fault string
	// Note follows their number in the notes on an arm that has any; "" where a table says enough.
	Note string
	// Means says what a column that is rarely there is of; "" where its name does.
	Means string
}

// MessageCounters are all counts, in the order of reports and exports. Each is a sum: over slices, rounds and groups.
func MessageCounters() []MessageCounter {
	return []MessageCounter{
		{Name: "sent", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Sent }},
		{Name: "acknowledged", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Acknowledged }},
		{
			Name: "unsure", Column: ColumnIfAny, Of: func(c *MessageCounts) *uint64 { return &c.Unsure },
			Note: "messages were not acknowledged, so that nobody knows what became of them",
		},
		{Name: "expected", Of: func(c *MessageCounts) *uint64 { return &c.Expected }},
		{Name: "delivered", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Delivered }},
		{
			Name: "missing", Column: ColumnAlways, Of: func(c *MessageCounts) *uint64 { return &c.Missing },
			Fault: "acknowledged and never delivered",
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
			Fault: "delivered that were never sent", Means: "delivered, and never sent in this trial",
		},
	}
}

// AddCounts adds the counts of others.
func (c *MessageCounts) AddCounts(more MessageCounts) {
	for _, counter := range MessageCounters() {
		*counter.Of(c) += *counter.Of(&more)
	}
}

// Faults is how many messages the broker did wrong by.
func (c MessageCounts) Faults() (n uint64) {
	for _, counter := range MessageCounters() {
		if counter.Fault != "" {
			n += *counter.Of(&c)
		}
	}
	return n
}

// FaultWords says each fault that there is of, with a comma between them.
func (c MessageCounts) FaultWords(say func(n uint64, of MessageCounter) string) string {
	var all []string
	for _, counter := range MessageCounters() {
		if n := *counter.Of(&c); counter.Fault != "" && n > 0 {
			all = append(all, say(n, counter))
		}
	}
	return strings.Join(all, ", ")
}
