package claim

import (
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// MessageState is the account of an arm's messages over all rounds: see [result.Messages].
type MessageState struct {
	result.MessageCounts
	// Peak is the largest backlog, and SendOutage and DeliveryOutage the longest.
	Peak           int64         `json:"peak_backlog"`
	SendOutage     plan.Duration `json:"send_outage"`
	DeliveryOutage plan.Duration `json:"delivery_outage"`
	// Refused holds the outages, in ns, that a check refuses; they are 0 above.
	Refused Refusals `json:"refused,omitempty"`
	// Early is what there is to know of a broker that acknowledges before a quorum
	// has a message on disk; "" of one that does not.
	Early string               `json:"early,omitempty"`
	Done  []result.Disturbance `json:"done,omitempty"`
}

// Refuse takes out the outages that a check refuses: they are longer than what was seen.
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
