package result

import (
	"fmt"
	"strings"
	"time"

	"wirelab/lab/plan"
)

// MessageState is the account of an arm's messages over all rounds: see [Messages].
type MessageState struct {
	Sent         uint64 `json:"sent"`
	Acknowledged uint64 `json:"acknowledged"`
	Unsure       uint64 `json:"unsure"`
	Expected     uint64 `json:"expected"`
	Delivered    uint64 `json:"delivered"`
	Missing      uint64 `json:"missing"`
	Kept         uint64 `json:"kept"`
	Duplicated   uint64 `json:"duplicated"`
	Redelivered  uint64 `json:"redelivered"`
	Reordered    uint64 `json:"reordered"`
	Displaced    uint64 `json:"displaced"`
	Corrupted    uint64 `json:"corrupted"`
	Misrouted    uint64 `json:"misrouted"`
	Stray        uint64 `json:"stray"`
	// Peak is the largest backlog, and SendOutage and DeliveryOutage the longest.
	Peak           int64         `json:"peak_backlog"`
	SendOutage     plan.Duration `json:"send_outage"`
	DeliveryOutage plan.Duration `json:"delivery_outage"`
	// Refused holds the outages, in ns, that a check refuses; they are 0 above.
	Refused Refusals `json:"refused,omitempty"`
	// Early is what there is to know of a broker that acknowledges before a quorum
	// has a message on disk; "" of one that does not.
	Early string        `json:"early,omitempty"`
	Done  []Disturbance `json:"done,omitempty"`
}

// messageKind is the kind of loads that send messages through a broker.
func messageKind() *Kind {
	return &Kind{
		Name: plan.Messages, Words: perMessageWords,
		Manner: Manner{
			Things: "calls", Replies: "replies", Begun: "begun", Made: "message was sent", Renewed: true,
			Fewer: "fewer calls in flight or a lower --rate",
		},
		Metrics: messageMetrics, Under: messagesHave, Primary: messagePrimary, Rate: plan.MessageRate,
		Gates: messageGates, Refuse: refuseMessages, Flaws: messageFlaws,
	}
}

// messagesHave leaves out what of sends says little: a send may carry many messages, and few brokers tell what they
// allocate.
func messagesHave(m Metric, l plan.Load) bool {
	if m.ID == plan.Throughput || m.ID == plan.ServerAllocations {
		return false
	}
	if l.Open() {
		return m.Open
	}
	return m.Closed
}

func messagePrimary(p plan.Plan, l plan.Load, _ string) string { return p.MessagePrimary(l) }

// messageGates applies the checks of messages, and of the sends that carried them.
func messageGates(g grid, l int, s *subject) {
	s.messages(s.result.arm(s.arm))
	s.sends()
	s.steady()
	s.physics()
	s.arrivals()
	s.generator()
	s.noise()
	s.floor(fastest(g, l))
}

func refuseMessages(s *ArmState, why func(id string) string, _ string) {
	if s.Messages != nil {
		s.Messages.refuse(why)
	}
}

// drainLong is how long after a slice its last message may come without a note.
const drainLong = 100 * time.Millisecond

// messages: what was acknowledged arrived at each group, once, in order and as it
// was sent. One fault in all rounds is too many: what is lost costs nothing.
func (s *subject) messages(arm *Arm) {
	var all *Messages
	readings, failed := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		if t.Messages == nil {
			return 0, false, false
		}
		all = all.Add(*t.Messages)
		n := t.Messages.Faults()
		return float64(n), n == 0, true
	})
	if all == nil {
		return
	}
	var faults []string
	for _, f := range []struct {
		n    uint64
		what string
	}{
		{all.Missing, "acknowledged and never delivered"},
		{all.Duplicated, "delivered again for no reason"},
		{all.Reordered, "delivered out of order for no reason"},
		{all.Corrupted, "not as they were sent"},
		{all.Misrouted, "delivered under another topic"},
		{all.Stray, "delivered that were never sent"},
	} {
		if f.n > 0 {
			faults = append(faults, Thousands(f.n)+" "+f.what)
		}
	}
	s.add(Check{
		Gate: Delivery, OK: failed == 0, Value: float64(all.Faults()), Unit: "messages", Rounds: readings,
		Detail: choose(failed == 0, Thousands(all.Acknowledged)+" messages were acknowledged, and each was delivered once, in order and whole",
			"of "+Thousands(all.Acknowledged)+" messages acknowledged: "+strings.Join(faults, ", ")),
		Fix: "find where they went: a broker that may lose or duplicate messages costs less, so that no number of this arm can stand beside another's",
	})
	s.state.Messages = &MessageState{
		Sent: all.Sent, Acknowledged: all.Acknowledged, Unsure: all.Unsure, Expected: all.Expected, Delivered: all.Delivered,
		Missing: all.Missing, Kept: all.Kept, Duplicated: all.Duplicated, Redelivered: all.Redelivered,
		Reordered: all.Reordered, Displaced: all.Displaced, Corrupted: all.Corrupted, Misrouted: all.Misrouted, Stray: all.Stray,
		Peak: all.Peak(), SendOutage: all.SendOutage, DeliveryOutage: all.DeliveryOutage, Done: all.Done, Early: early(arm),
	}
	s.recovery()
	s.messageNotes(all)
}

// recovery: an outage that the window cuts off is longer than what was seen of it.
func (s *subject) recovery() {
	unseen := 0
	readings, failed := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		if t.Messages == nil || !s.load.Fails() || len(t.Messages.Done) == 0 {
			return 0, false, false
		}
		n := 0
		for _, d := range t.Messages.Done {
			if d.Again == 0 {
				n++
			}
		}
		unseen += n
		return float64(n), n == 0, true
	})
	if len(readings) == 0 {
		return
	}
	s.add(Check{
		Gate: Recovery, OK: failed == 0, Value: float64(unseen), Unit: "slices", Rounds: readings,
		Detail: choose(failed == 0, "messages went through again before a slice ended",
			fmt.Sprintf("recovery not seen, in %d of %d rounds: the slice ended before all was as before and messages went through again, so that outages are longer than what was seen of them", failed, len(readings))),
		Fix: "a longer --slice",
	})
}

// Early is what there is to know of a broker that acknowledges a message before a
// quorum has it on disk; "" of one that does not, and of what is no broker of
// messages. Its figures are of less than another's, so that no report may put it
// beside others without a mark.
func (r *Result) Early(arm int) string {
	if !r.Plan.Messaging() {
		return ""
	}
	return early(r.arm(arm))
}

// arm is what an arm turned out to be; nil where the result does not tell.
func (r *Result) arm(i int) *Arm {
	if i < 0 || i >= len(r.Arms) {
		return nil
	}
	return &r.Arms[i]
}

// early says of a broker that acknowledges before a message is durable that it does.
func early(arm *Arm) string {
	if arm == nil || arm.Handover == nil {
		return "when its acknowledgements are durable is not known"
	}
	if arm.Handover.Confirms && arm.Handover.OnDisk() {
		return choose(arm.Handover.Alone, "acknowledges when one node of several has a message on disk", "")
	}
	if arm.Handover.Sync == SyncUnknown {
		return "when its acknowledgements are durable is not known"
	}
	return "acknowledges before a message is on disk"
}

// messageNotes says what a reader should know of, and what makes nothing invalid.
func (s *subject) messageNotes(all *Messages) {
	var became []string
	for _, n := range []struct {
		n    uint64
		what string
	}{
		{all.Unsure, "messages were not acknowledged, so that nobody knows what became of them"},
		{all.Kept, "messages were delivered although they had not been acknowledged"},
	} {
		if n.n > 0 {
			became = append(became, Thousands(n.n)+" "+n.what)
		}
	}
	if text := all.excused(); text != "" {
		became = append(became, text)
	}
	if len(became) > 0 {
		s.state.Notes = append(s.state.Notes, strings.Join(became, "; "))
	}
	if e := s.state.Messages.Early; e != "" {
		s.state.Notes = append(s.state.Notes, e)
	}
	if peak := all.Peak(); peak >= drainLeast {
		s.state.Notes = append(s.state.Notes, fmt.Sprintf("at most %s messages were acknowledged and not yet delivered", Thousands(uint64(peak))))
	}
	if each := time.Duration(all.Drained) / time.Duration(max(len(all.Backlog), 1)); each > drainLong {
		s.state.Notes = append(s.state.Notes, fmt.Sprintf("the last message was read %v after a slice had ended, on average", each.Round(time.Millisecond)))
	}
}

// excused says what was delivered again, or out of order, for a reason; "" of nothing.
// A sender that got no answer is one, whatever was done: nobody can tell it whether
// its message was taken.
func (m *Messages) excused() string {
	var text string
	switch again, late := Thousands(m.Redelivered), Thousands(m.Displaced); {
	case m.Redelivered > 0 && m.Displaced > 0:
		text = again + " messages were delivered again, and " + late + " out of order,"
	case m.Redelivered > 0:
		text = again + " messages were delivered again"
	case m.Displaced > 0:
		text = late + " messages were delivered out of order"
	default:
		return ""
	}
	return text + " after something had been done to the broker or a reader, or when their sender got no answer, as at-least-once allows"
}

// refusals notes the sends that failed while something was done to the broker: what
// that costs is what such a scenario asks, and no fault of the broker's.
func (s *subject) refusals() {
	failed := uint64(0)
	for _, n := range s.all.errors {
		failed += n
	}
	if failed > 0 {
		s.state.Notes = append(s.state.Notes, fmt.Sprintf("%s of %s sends failed: %s", Thousands(failed), Thousands(s.all.sent), s.whyFailed()))
	}
}
