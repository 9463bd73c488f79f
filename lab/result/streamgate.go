package result

import (
	"fmt"
	"math"
	"strings"
	"time"
	"wirelab/lab/plan"
)

const (
	// rateShare is how far short of its target a rate may be unsaid.
	rateShare = 0.005
	// slippedShare of events may say another due time than the rate has it.
	slippedShare = 0.01
)

// perEventWords puts events in the place of calls.
func perEventWords(text string) string {
	return strings.NewReplacer("per request", "per event", "/req", "/event").Replace(text)
}

// streamKind is the kind of loads that hold streams open, and make no calls.
func streamKind() *Kind {
	return &Kind{
		Name: plan.Held, Words: func(text string) string { return text },
		Manner: Manner{
			Things: "events", Replies: "events", Begun: "of the streams", Made: "event came", Streamed: true,
			Fewer:  "fewer streams or a lower --rate",
			Remedy: "find out what between server and reader loses or changes events; at a lower rate they may all come",
		},
		Metrics: streamMetrics, Under: streamsHave, Primary: streamPrimary, Rate: plan.EventRate,
		Gates: streamGates, Refuse: refuseStreams, Flaws: streamFlaws,
	}
}

func streamsHave(m Metric, l plan.Load) bool {
	if l.Slow() {
		return m.Slow
	}
	return m.Streams
}

func streamPrimary(_ plan.Plan, l plan.Load, usual string) string {
	switch {
	case l.Slow():
		return plan.EventRate // there is nothing to rank
	case usual == plan.Throughput:
		return plan.DeliveryP99
	}
	return plan.EventServerCPU
}

// streamGates applies the gates of loads that hold streams, and none that make no
// sense there: a stream is no call in flight (Little's law), nobody sends its
// events when they are due but the server, so that what is late is the
// server's (arrivals, wake), and no server that does nothing sends events (floor).
func streamGates(_ grid, _ int, s *subject) {
	s.answers()
	s.steady()
	s.settled()
	s.sequence()
	s.streamSchedule()
	s.wireBytes()
	s.cpuTime()
	s.generator()
	s.noise()
	s.state.Streams = streamState(s.load, s.trials)
	s.streamNotes()
	s.database()
}

func refuseStreams(s *ArmState, why func(id string) string, whole string) {
	if s.Streams != nil {
		s.Streams.refuse(why, whole)
	}
}

// sequence: each event comes once, and in order.
func (s *subject) sequence() {
	var twice, turned, stray, slipped uint64
	readings, failed := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		n := t.Streams.faulty()
		return float64(n), n == 0, t.Streams != nil
	})
	for _, t := range s.trials {
		if t.Streams != nil {
			twice += t.Streams.Duplicated
			turned += t.Streams.Reordered
			stray += t.Streams.Stray
			slipped += t.Streams.Slipped
		}
	}
	var faults []string
	for _, f := range []struct {
		n    uint64
		what string
	}{{twice, "came twice"}, {turned, "out of order"}, {stray, "that never were"}} {
		if f.n > 0 {
			faults = append(faults, Thousands(f.n)+" "+f.what)
		}
	}
	s.add(Check{
		Gate: Sequence, OK: failed == 0, Value: float64(twice + turned + stray), Unit: "events", Rounds: readings,
		Detail: choose(failed == 0, "each event came once and in order", "events of the streams: "+strings.Join(faults, ", ")),
		Fix:    "find out what between server and reader repeats or reorders; a number that repeats an event is no measure of it",
	})
	if float64(slipped) > slippedShare*float64(s.all.planned) {
		s.state.Notes = append(s.state.Notes, fmt.Sprintf("%s of the events said that they were due at another time than the rate has it: times count from when the rate has it",
			percent(float64(slipped)/float64(max(s.all.planned, 1)))))
	}
}

// streamSchedule: as many events were due as the rate gives. Each stream may
// have one more or less in a slice.
func (s *subject) streamSchedule() {
	want := func(window time.Duration) float64 { return s.load.Rate * window.Seconds() }
	slack := func(slices int) float64 { return float64(slices * s.load.Streams) }
	readings, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		off := math.Abs(float64(t.Planned) - want(time.Duration(max(t.Window, 0))))
		return finite(off), off <= slack(len(t.Order)), true
	})
	off, most := math.Abs(float64(s.all.planned)-want(s.all.window)), slack(s.all.slices)
	s.add(Check{
		Gate: Schedule, OK: off <= most, Value: off, Limit: most, Unit: "events from the plan", Rounds: readings,
		Detail: choose(off <= most, Thousands(s.all.planned)+" events were due, all accounted for",
			fmt.Sprintf("%s events were due, where the rate gives %s", Thousands(s.all.planned), Thousands(uint64(max(0, finite(want(s.all.window))))))),
		Fix: "this is a fault of the generator or of the file: report it",
	})
}

// streamNotes says what the rate came to, and what was left out.
func (s *subject) streamNotes() {
	state := s.state.Streams
	if state == nil {
		return
	}
	if !s.load.Slow() && state.Target > 0 && state.Achieved < (1-rateShare)*state.Target {
		s.state.Notes = append(s.state.Notes, fmt.Sprintf("short of its target: %s of %s events/s in all (%s), so that deliveries are the later the longer a slice is",
			Thousands(uint64(math.Round(state.Achieved))), Thousands(uint64(math.Round(state.Target))), percent(state.Achieved/state.Target)))
	}
	s.state.Notes = append(s.state.Notes, "streams are no calls, so these checks are left out by rule: Little's law, arrival law, calls made on time, floor")
}
