package messages

import (
	"fmt"
	"strings"
	"time"

	"wirelab/lab/kind"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
)

// sends applies the gates on the answers to sends.
func sends(s *gate.Subject) {
	if !s.Load.Fails() {
		s.Answers()
		return
	}
	refusals(s)
	failed := uint64(0)
	for _, n := range s.All.Errors {
		failed += n
	}
	s.Accounts(failed)
}

// Kind is the kind of loads that send messages through a broker.
func Kind() *kind.Kind {
	return &kind.Kind{
		Name: plan.Messages, Words: perMessageWords,
		Manner: gate.Manner{
			Things: "calls", Replies: "replies", Begun: "begun", Made: "message was sent", Renewed: true,
			Fewer: "fewer calls in flight or a lower --rate",
		},
		Metrics: messageMetrics, Under: messagesHave, Primary: messagePrimary, Rate: plan.MessageRate,
		Gates: messageGates, Refuse: refuseMessages, Flaws: messageFlaws, Merge: mergeMessages,
		Followed: followedMessages, Early: result.Early,
		Run: kind.Run{Cluster: true, Floor: messageFloor},
	}
}

func mergeMessages(t *result.Trial, more result.Particulars) {
	if more.Messages != nil {
		t.Messages = t.Messages.Add(*more.Messages)
	}
}

func followedMessages(t *result.Trial) (missing, again uint64, ok bool) {
	if t.Messages == nil {
		return 0, 0, false
	}
	return t.Messages.Missing, t.Messages.Duplicated + t.Messages.Redelivered, true
}

// messageFloor is read from the beginning whatever the scenario: nothing is done to a broker that does nothing.
func messageFloor(l plan.Load) plan.Load {
	l.Scenario, l.Delay = plan.Live, 0
	return l
}

// messagesHave leaves out what of sends says little: a send may carry many messages, and few brokers tell what they
// allocate.
func messagesHave(m metric.Metric, l plan.Load) bool {
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
func messageGates(g grid.Grid, l int, s *gate.Subject) {
	messages(s, s.Result.Arm(s.Arm))
	sends(s)
	s.Steady()
	s.Physics()
	s.Arrivals()
	s.Generator()
	s.Noise()
	s.Floor(fastest(g, l))
}

func refuseMessages(s *claim.ArmState, why func(id string) string, _ string) {
	if s.Messages != nil {
		s.Messages.Refuse(why)
	}
}

// drainLong is how long after a slice its last message may come without a note.
const drainLong = 100 * time.Millisecond

// messages checks that each acknowledged message arrived at each group once, in order and unchanged. One fault in all
// rounds is too many, because losing messages saves time.
func messages(s *gate.Subject, arm *result.Arm) {
	var all *result.Messages
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
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
	s.Add(claim.Check{
		Gate: result.Delivery, OK: failed == 0, Value: float64(all.Faults()), Unit: "messages", Rounds: readings,
		Detail: words.Choose(failed == 0,
			words.Thousands(all.Acknowledged)+" messages were acknowledged, and each was delivered once, in order "+
				"and whole",
			"of "+words.Thousands(all.Acknowledged)+" messages acknowledged: "+
				all.FaultWords(func(n uint64, of result.MessageCounter) string {
					return words.Thousands(n) + " " + of.Fault
				})),
		Fix: "find where they went: a broker that may lose or duplicate messages costs less, so no figure of " +
			"this arm can be compared with another's",
	})
	s.State.Messages = &claim.MessageState{
		MessageCounts: all.MessageCounts,
		Peak:          all.Peak(), SendOutage: all.SendOutage, DeliveryOutage: all.DeliveryOutage, Done: all.Done,
		Early: result.Early(arm),
	}
	recovery(s)
	messageNotes(s, all)
}

// recovery: an outage that the window cuts off is longer than what was seen of it.
func recovery(s *gate.Subject) {
	unseen := 0
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		if t.Messages == nil || !s.Load.Fails() || len(t.Messages.Done) == 0 {
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
	s.Add(claim.Check{
		Gate: result.Recovery, OK: failed == 0, Value: float64(unseen), Unit: "slices", Rounds: readings,
		Detail: words.Choose(failed == 0, "messages went through again before a slice ended",
			fmt.Sprintf("recovery not seen, in %d of %d rounds: the slice ended before all was as before and messages "+
				"went through again, so that outages are longer than what was seen of them", failed, len(readings))),
		Fix: "a longer --slice",
	})
}

// messageNotes says what a reader should know of, and what makes nothing invalid.
func messageNotes(s *gate.Subject, all *result.Messages) {
	var became []string
	for _, c := range result.MessageCounters() {
		if n := *c.Of(&all.MessageCounts); n > 0 && c.Note != "" {
			became = append(became, words.Thousands(n)+" "+c.Note)
		}
	}
	if text := excused(all); text != "" {
		became = append(became, text)
	}
	if len(became) > 0 {
		s.State.Notes = append(s.State.Notes, strings.Join(became, "; "))
	}
	if e := s.State.Messages.Early; e != "" {
		s.State.Notes = append(s.State.Notes, e)
	}
	if peak := all.Peak(); peak >= drainLeast {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("at most %s messages were acknowledged and not yet delivered", words.Thousands(uint64(peak))))
	}
	if each := time.Duration(all.Drained) / time.Duration(max(len(all.Backlog), 1)); each > drainLong {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("the last message was read %v after a slice had ended, on average",
				each.Round(time.Millisecond)))
	}
}

// excused lists messages that were delivered again or out of order with an excuse; "" if there are none. A missing
// answer to the sender is an excuse even without a fault, because the sender cannot know whether its message was
// accepted.
func excused(m *result.Messages) string {
	var text string
	switch again, late := words.Thousands(m.Redelivered), words.Thousands(m.Displaced); {
	case m.Redelivered > 0 && m.Displaced > 0:
		text = again + " messages were delivered again, and " + late + " out of order,"
	case m.Redelivered > 0:
		text = again + " messages were delivered again"
	case m.Displaced > 0:
		text = late + " messages were delivered out of order"
	default:
		return ""
	}
	return text + " after something had been done to the broker or a reader, or when their sender got no answer, as " +
		"at-least-once allows"
}

// refusals notes the sends that failed while something was done to the broker: what
// that costs is what such a scenario asks, and no fault of the broker's.
func refusals(s *gate.Subject) {
	failed := uint64(0)
	for _, n := range s.All.Errors {
		failed += n
	}
	if failed > 0 {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("%s of %s sends failed: %s", words.Thousands(failed), words.Thousands(s.All.Sent),
				s.WhyFailed()))
	}
}
