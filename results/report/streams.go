package report

import (
	"fmt"
	"math"
	"strings"

	"wirelab/lab/kind/streams"
	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report/block"
)

// streamShape is the [Shape] of loads that hold streams.
func streamShape() Shape {
	return Shape{
		Sends: "calls", Done: "Events", short: "/event", Right: "events right", Checked: "Replies",
		main: streamMain, bytes: true, paced: streamsName, limited: callLimited,
		seen: streamTable, accounts: func(l *claim.LoadAnalysis) []*block.Table {
			return []*block.Table{ClientTable(l)}
		},
	}
}

func streamMain(l *claim.LoadAnalysis) []string {
	if l.Slow {
		return []string{l.Primary}
	}
	return []string{
		l.Primary, plan.EventServerCPU, plan.EventDatabaseCPU, plan.DeliveryP50, plan.DeliveryP99, plan.JitterP99,
	}
}

// streamColumns are the columns of a load's streams in addition to metrics. For slow
// readers they show what became of the events that were not read, for others
// what was delivered. There are none where nothing was measured.
func streamColumns(l *claim.LoadAnalysis) []armColumn {
	if Empty(l) {
		return nil
	}
	column := func(head string, of func(*claim.StreamState) string) armColumn {
		return columnOf(l, head, func(arm *claim.ArmState) string {
			s := streams.StateOf(arm)
			return of(&s)
		})
	}
	if l.Slow {
		return slowColumns(column)
	}
	all := []armColumn{
		column("due /s in all", func(s *claim.StreamState) string { return events(s.Target) }),
		column("delivered /s in all", func(s *claim.StreamState) string {
			return plainOr(s.Refused, "achieved", s.Achieved, events)
		}),
		column("missing", func(s *claim.StreamState) string { return phrases.Thousands(s.Missing) }),
		column("twice", func(s *claim.StreamState) string { return phrases.Thousands(s.Duplicated) }),
		column("out of order", func(s *claim.StreamState) string { return phrases.Thousands(s.Reordered) }),
		column("wrong", func(s *claim.StreamState) string { return phrases.Thousands(s.Wrong) }),
	}
	if l.Streams == 1 {
		return all
	}
	return append(all,
		column("each stream /s", func(s *claim.StreamState) string {
			return streamsSpread(s, "achieved", func(c claim.ClientState) float64 { return c.Achieved }, events)
		}),
		column("each stream's p99, µs", func(s *claim.StreamState) string {
			return streamsSpread(s, "delivery_p99", func(c claim.ClientState) float64 { return c.DeliveryP99 },
				func(ns float64) string { return Significant(ns/1e3, 3) })
		}),
	)
}

// slowColumns has averages over slices, of all streams together.
func slowColumns(column func(string, func(*claim.StreamState) string) armColumn) []armColumn {
	of := func(head, field string, size float64, value func(*claim.SlowState) float64) armColumn {
		return column(head, func(s *claim.StreamState) string {
			if s.Behind == nil {
				return Absent
			}
			return plainOr(s.Behind.Refused, field, value(s.Behind), func(v float64) string { return events(v / size) })
		})
	}
	return []armColumn{
		of("due", "due", 1, func(s *claim.SlowState) float64 { return s.Due }),
		of("sent", "sent", 1, func(s *claim.SlowState) float64 { return s.Sent }),
		of("read", "decoded", 1, func(s *claim.SlowState) float64 { return s.Decoded }),
		of("buffered", "buffered", 1, func(s *claim.SlowState) float64 { return s.Buffered }),
		of("buffered kB", "buffered_bytes", 1e3, func(s *claim.SlowState) float64 { return s.BufferedBytes }),
		of("pushed back", "pushed_back", 1, func(s *claim.SlowState) float64 { return s.PushedBack }),
		of("dropped", "dropped", 1, func(s *claim.SlowState) float64 { return s.Dropped }),
	}
}

// streamCaption explains the columns.
func streamCaption(l *claim.LoadAnalysis) string {
	if l.Slow {
		return "Events of all streams together since they began, at the end of a slice, on average: buffered is sent " +
			"and neither read nor dropped, pushed back is due and not yet sent."
	}
	return "Rates are of all streams together unless it says each; missing, twice, out of order and wrong are of all " +
		"rounds, and one is enough for no figure."
}

// events writes a number without decimals.
func events(v float64) string {
	if !(v >= 0 && v < 1e15) {
		return Absent
	}
	return phrases.Thousands(uint64(math.Round(v)))
}

// fromTo writes a range, or one number if both ends read the same.
func fromTo(low, high string) string {
	if low == high {
		return low
	}
	return low + "–" + high
}

// streamsName names a load of streams.
func streamsName(l plan.Load) string {
	text := fmt.Sprintf("%d streams at %s in all", l.Streams, rate(l.Rate))
	if l.Streams == 1 {
		text = "1 stream at " + rate(l.Rate)
	}
	if l.Slow() {
		text += ", read at " + given(l.Reader) + " of that"
	}
	return text
}

// slowSentence says what happened to the events that slow readers did not read: "With 10 streams at 10,000/s in all,
// read at 50 % of that, grpc had of the events due by the end of a slice read 50 %, buffered 12 %, pushed back 38 %
// and dropped none; sse had …"
func slowSentence(p plan.Plan, l *claim.LoadAnalysis) string {
	var said []string
	first := true
	for a := range l.Arms {
		arm := &l.Arms[a]
		switch {
		case len(arm.Invalid()) > 0:
			said = append(said, arm.Name+" is invalid: "+arm.Invalid()[0])
		case streams.StateOf(arm).Behind == nil:
			said = append(said, "nothing was measured of "+arm.Name)
		default:
			b, of := arm.Streams.Behind, ""
			if first {
				first, of = false, " of the events due by the end of a slice"
			}
			said = append(said, arm.Name+" had"+of+" "+List([]string{
				"read " + part(b.Decoded, b.Due), "buffered " + part(b.Buffered, b.Due),
				"pushed back " + part(b.PushedBack, b.Due), "dropped " + part(b.Dropped, b.Due),
			}))
		}
	}
	return Load(p, l.Load) + ", " + strings.Join(said, "; ") + "."
}

// part writes a count as a share of all.
func part(n, all float64) string {
	if n <= 0 || all <= 0 {
		return "none"
	}
	return Percent(n / all)
}
