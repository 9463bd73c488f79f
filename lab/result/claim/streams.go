package claim

import (
	"math"
	"slices"

	"wirelab/lab/plan"
)

// Refuse moves refused rates and times of streams to the refusals.
func (s *StreamState) Refuse(why func(id string) string, whole string) {
	s.Refused.Move("achieved", &s.Achieved, why(plan.EventRate))
	for i := range s.Clients {
		c := &s.Clients[i]
		c.Refused.Move("achieved", &c.Achieved, why(plan.EventRate))
		c.Refused.Move("delivery_p50", &c.DeliveryP50, why(plan.DeliveryP50))
		c.Refused.Move("delivery_p99", &c.DeliveryP99, why(plan.DeliveryP99))
		c.Refused.Move("jitter_p99", &c.JitterP99, why(plan.JitterP99))
	}
	if b := s.Behind; b != nil {
		for _, f := range []struct {
			field string
			plain *float64
		}{
			{"sent", &b.Sent},
			{"decoded", &b.Decoded},
			{"buffered", &b.Buffered},
			{"pushed_back", &b.PushedBack},
			{"dropped", &b.Dropped},
			{"buffered_bytes", &b.BufferedBytes},
		} {
			b.Refused.Move(f.field, f.plain, whole)
		}
	}
}

// StreamState describes an arm's streams, individually and together.
type StreamState struct {
	// Target and Achieved are events per second, of all streams together.
	Target   float64 `json:"target"`
	Achieved float64 `json:"achieved,omitempty"`
	// Refused holds Achieved if a check refuses it.
	Refused Refusals `json:"refused,omitempty"`
	// Missing, Duplicated, Reordered and Wrong are over all streams and rounds.
	Missing    uint64 `json:"missing"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Wrong      uint64 `json:"wrong"`
	// Behind is the average position of slow readers at the end of a slice, over all streams; nil if readers are not
	// slow.
	Behind  *SlowState    `json:"behind,omitempty"`
	Clients []ClientState `json:"clients"`
}

// SlowState is the average of [result.Behind] over slices, in events.
type SlowState struct {
	Due        float64 `json:"due"`
	Sent       float64 `json:"sent,omitempty"`
	Decoded    float64 `json:"decoded,omitempty"`
	Buffered   float64 `json:"buffered,omitempty"`
	PushedBack float64 `json:"pushed_back,omitempty"`
	Dropped    float64 `json:"dropped,omitempty"`
	// BufferedBytes is Buffered times the size of an event on the wire.
	BufferedBytes float64 `json:"buffered_bytes,omitempty"`
	// Refused holds all fields except Due if no figure of the arm is valid.
	Refused Refusals `json:"refused,omitempty"`
}

// ClientState is one stream of an arm, over all rounds.
type ClientState struct {
	Target     float64 `json:"target"` // events/s of this stream
	Achieved   float64 `json:"achieved,omitempty"`
	Events     uint64  `json:"events"` // right
	Missing    uint64  `json:"missing"`
	Duplicated uint64  `json:"duplicated"`
	Reordered  uint64  `json:"reordered"`
	Wrong      uint64  `json:"wrong"`
	// DeliveryP50, DeliveryP99 and JitterP99 are in ns; 0 if not known.
	DeliveryP50 float64 `json:"delivery_p50,omitempty"`
	DeliveryP99 float64 `json:"delivery_p99,omitempty"`
	JitterP99   float64 `json:"jitter_p99,omitempty"`
	// Refused holds Achieved and the times if a check refuses them.
	Refused Refusals `json:"refused,omitempty"`
}

// spread is the smallest and largest value of the clients. ok is false if one has none.
func spread(clients []ClientState, of func(ClientState) float64) (low, high float64, ok bool) {
	if len(clients) == 0 {
		return 0, 0, false
	}
	low, high = math.Inf(1), 0
	for _, c := range clients {
		low, high = min(low, of(c)), max(high, of(c))
	}
	return low, high, low > 0
}

// Spread is the smallest and largest value of an arm's streams. ok is false if it is not known for each.
func (s *StreamState) Spread(of func(ClientState) float64) (low, high float64, ok bool) {
	return spread(slices.Clone(s.Clients), of)
}
