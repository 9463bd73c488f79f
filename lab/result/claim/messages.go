package claim

import (
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// MessageState counts an arm's messages over all rounds: see [result.Messages].
type MessageState struct {
	result.MessageCounts
	// Peak is the largest backlog. SendOutage and DeliveryOutage are the longest outages.
	Peak           int64         `json:"peak_backlog"`
	SendOutage     plan.Duration `json:"send_outage"`
	DeliveryOutage plan.Duration `json:"delivery_outage"`
	// Refused holds the outages that a check refuses, in ns; the fields above are then 0.
	Refused Refusals `json:"refused,omitempty"`
	// Early describes a broker that acknowledges before a quorum has a message on disk; "" for any other.
	Early string               `json:"early,omitempty"`
	Done  []result.Disturbance `json:"done,omitempty"`
}

// Refuse removes the outages that a check refuses, because they were longer than the window shows.
func (m *MessageState) Refuse(why func(id string) string) {
	for _, o := range []struct {
		field string
		plain *plan.Duration
		why   string
	}{
		{"send_outage", &m.SendOutage, why(plan.SendOutage)},
		{"delivery_outage", &m.DeliveryOutage, why(plan.DeliveryOutage)},
	} {
		if o.why != "" && *o.plain > 0 {
			m.Refused.put(o.field, float64(*o.plain), o.why)
			*o.plain = 0
		}
	}
}
