package streams

import (
	"fmt"
	"math"
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

const (
	// rateShare is how far short of its target a rate may be unsaid.
	rateShare = 0.005
	// slippedShare of events may say another due time than the rate has it.
	slippedShare = 0.01
)

// Kind is the kind of loads that hold streams open, and make no calls.
func Kind() *kind.Kind {
	return &kind.Kind{
		Name: plan.Held, Words: func(text string) string { return text },
		Manner: gate.Manner{
			Things: "events", Replies: "events", Begun: "of the streams", Made: "event came", Streamed: true,
			Fewer: "fewer streams or a lower --rate",
			Remedy: "find out what between server and reader loses or changes events; at a lower rate they may " +
				"all come",
		},
		Metrics: streamMetrics, Under: streamsHave, Primary: streamPrimary, Rate: plan.EventRate,
		Gates: streamGates, Refuse: refuseStreams, Flaws: streamFlaws, Merge: mergeStreams, Followed: followedEvents,
		Run: kind.Run{Held: true},
	}
}

func mergeStreams(t *result.Trial, more result.Particulars) {
	if more.Streams != nil {
		t.Streams = t.Streams.Add(*more.Streams)
	}
}

func followedEvents(t *result.Trial) (missing, again uint64, ok bool) {
	if t.Streams == nil {
		return 0, 0, false
	}
	return t.Streams.Missing, t.Streams.Duplicated, true
}

func streamsHave(m metric.Metric, l plan.Load) bool {
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

// streamGates applies the gates of loads that hold streams. It leaves out gates that do not apply: a stream is no call
// in flight (Little's law), events are sent by the server, so lateness is the server's (arrivals, wake), and a server
// that does nothing sends no events (floor).
func streamGates(_ grid.Grid, _ int, s *gate.Subject) {
	s.Answers()
	s.Steady()
	s.Settled()
	sequence(s)
	streamSchedule(s)
	s.WireBytes()
	s.CPUTime()
	s.Generator()
	s.Noise()
	s.State.Streams = streamState(s.Load, s.Trials)
	streamNotes(s)
	s.Database()
}

func refuseStreams(s *claim.ArmState, why func(id string) string, whole string) {
	if s.Streams != nil {
		s.Streams.Refuse(why, whole)
	}
}

// sequence: each event comes once, and in order.
func sequence(s *gate.Subject) {
	var twice, turned, stray, slipped uint64
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		n := t.Streams.Faulty()
		return float64(n), n == 0, t.Streams != nil
	})
	for _, t := range s.Trials {
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
			faults = append(faults, words.Thousands(f.n)+" "+f.what)
		}
	}
	s.Add(claim.Check{
		Gate: result.Sequence, OK: failed == 0, Value: float64(twice + turned + stray), Unit: "events",
		Rounds: readings,
		Detail: words.Choose(failed == 0, "each event came once and in order",
			"events of the streams: "+strings.Join(faults, ", ")),
		Fix: "find out what between server and reader repeats or reorders; a number that repeats an event is no " +
			"measure of it",
	})
	if float64(slipped) > slippedShare*float64(s.All.Planned) {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("%s of the events said that they were due at another time than the rate has it: times count "+
				"from when the rate has it",
				words.Percent(float64(slipped)/float64(max(s.All.Planned, 1)))))
	}
}

// streamSchedule: as many events were due as the rate gives. Each stream may
// have one more or less in a slice.
func streamSchedule(s *gate.Subject) {
	want := func(window time.Duration) float64 { return s.Load.Rate * window.Seconds() }
	slack := func(slices int) float64 { return float64(slices * s.Load.Streams) }
	readings, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		off := math.Abs(float64(t.Planned) - want(time.Duration(max(t.Window, 0))))
		return claim.Finite(off), off <= slack(len(t.Order)), true
	})
	off, most := math.Abs(float64(s.All.Planned)-want(s.All.Window)), slack(s.All.Slices)
	s.Add(claim.Check{
		Gate: result.Schedule, OK: off <= most, Value: off, Limit: most, Unit: "events from the plan", Rounds: readings,
		Detail: words.Choose(off <= most, words.Thousands(s.All.Planned)+" events were due, all accounted for",
			fmt.Sprintf("%s events were due, where the rate gives %s", words.Thousands(s.All.Planned),
				words.Thousands(uint64(max(0, claim.Finite(want(s.All.Window))))))),
		Fix: "this is a fault of the generator or of the file: report it",
	})
}

// streamNotes says what the rate came to, and what was left out.
func streamNotes(s *gate.Subject) {
	state := s.State.Streams
	if state == nil {
		return
	}
	if !s.Load.Slow() && state.Target > 0 && state.Achieved < (1-rateShare)*state.Target {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("short of its target: %s of %s events/s in all (%s), so that deliveries are the later the "+
				"longer a slice is",
				words.Thousands(uint64(math.Round(state.Achieved))), words.Thousands(uint64(math.Round(state.Target))),
				words.Percent(state.Achieved/state.Target)))
	}
	s.State.Notes = append(s.State.Notes,
		"streams are no calls, so these checks are left out by rule: Little's law, arrival law, calls made on "+
			"time, floor")
}
