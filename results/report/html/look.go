package html

import (
	"wirelab/lab/kind"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// look is how the page draws one kind of load.
type look struct {
	// The bars of costs. A kind without allocations has no bars for them.
	cpu, bytes, allocations func(*sheet, *claim.LoadAnalysis) *figure
	// The spectrum: title and caption, and the quantiles marked in it.
	title     string
	caption   func(open bool) string
	quantiles []string
	// stages are those that are drawn by percentile of things that are followed to their end; title and caption are ""
	// where they are entries'.
	stages                     func() []stage
	stagesTitle, stagesCaption string
	// waited is what of a trial waited behind the replies.
	waited func(*result.Trial) waited
	// backlog sets the words of a backlog; nil: those of entries.
	backlog func(*sheet, *claim.LoadAnalysis, *figure)
}

// looks is the only table of kinds of load in the page.
func looks() map[plan.Kind]func() look {
	return map[plan.Kind]func() look{plan.Calls: callLook, plan.Messages: messageLook, plan.Held: streamLook}
}

// lookOf returns the look of a load. An unknown kind gets that of calls.
func lookOf(l *claim.LoadAnalysis) look {
	known := kinds.Named(l.Kind)
	if of := looks()[known.Name]; of != nil {
		return of()
	}
	return plainLook(known)
}

// plainLook is the look of a kind that has no own: its times by percentile, and no bars of costs.
func plainLook(k *kind.Kind) look {
	none := func(*sheet, *claim.LoadAnalysis) *figure { return nil }
	plain := look{
		cpu: none, bytes: none, title: "Times, by percentile",
		caption: func(bool) string {
			return "With the interval from leaving out each round. Grey: fewer than 100 " + k.Things +
				" lie beyond. Dotted: the same driver before a server that does nothing."
		},
		stages: func() []stage { return nil },
		waited: func(*result.Trial) waited { return waited{merged: 1} },
	}
	for _, m := range k.Metrics() {
		if m.Quantile > 0 {
			plain.quantiles = append(plain.quantiles, m.ID)
		}
	}
	return plain
}

func callLook() look {
	return look{
		cpu: func(s *sheet, l *claim.LoadAnalysis) *figure {
			return s.costs(l, "request", part{plan.ServerCPU, "server", "part0"},
				part{plan.DatabaseCPU, "database", "part2"}, part{plan.ClientCPU, "client", "part1"})
		},
		bytes: func(s *sheet, l *claim.LoadAnalysis) *figure { return s.bothWays(l, "request") },
		allocations: func(s *sheet, l *claim.LoadAnalysis) *figure {
			return s.stacked(l, "allocations", "Heap allocations per request", "Server and client added up.",
				part{plan.ServerAllocations, "server", "part0"}, part{plan.ClientAllocations, "client", "part1"})
		},
		title: "Response time, by percentile",
		caption: func(open bool) string {
			text := "Solid: response time, with the interval from leaving out each round. Grey: fewer than 100 calls " +
				"lie beyond. Dotted: the same driver before a server that does nothing."
			if open {
				text += " Dashed: service time, from when a call was made, not from when it was due."
			}
			return text
		},
		quantiles: []string{plan.ResponseP50, plan.ResponseP90, plan.ResponseP99, plan.ResponseP999},
		stages:    entryStages,
		waited:    entriesWaited,
	}
}

func messageLook() look {
	return look{
		cpu: func(s *sheet, l *claim.LoadAnalysis) *figure {
			return s.stacked(l, "cpu", "CPU time per message",
				"All processes of the broker and the client added up, each with its 95 % interval at its end.",
				part{plan.ServerCPU, "broker", "part0"}, part{plan.ClientCPU, "client", "part1"})
		},
		bytes: func(s *sheet, l *claim.LoadAnalysis) *figure { return s.bothWays(l, "message") },
		// Without allocations: brokers are of many kinds, and few report them.
		title: "Time to the acknowledgement, by percentile",
		caption: func(bool) string {
			return "From when a send was due until it was acknowledged, with the interval from leaving out each " +
				"round. Grey: fewer than 100 sends lie beyond."
		},
		quantiles:   []string{plan.ResponseP50, plan.ResponseP90, plan.ResponseP99, plan.ResponseP999},
		stages:      messageStages,
		stagesTitle: "Accepted, acknowledged and delivered, by percentile",
		stagesCaption: "From when a message was due, on the same axes for all arms, with the interval from leaving " +
			"out each round. Grey: fewer than 100 messages lie beyond. Accepted: the broker's client had taken it.",
		waited: messagesWaited, backlog: (*sheet).messagesBacklog,
	}
}

func streamLook() look {
	return look{
		cpu: func(s *sheet, l *claim.LoadAnalysis) *figure {
			return s.costs(l, "event", part{plan.EventServerCPU, "server", "part0"},
				part{plan.EventDatabaseCPU, "database", "part2"}, part{plan.EventClientCPU, "client", "part1"})
		},
		bytes: func(s *sheet, l *claim.LoadAnalysis) *figure {
			return s.stacked(l, "bytes", "Bytes on the wire per event",
				"All bytes that came through the driver's sockets, headers and encryption included.",
				part{plan.EventWireReceived, "received", "part1"})
		},
		allocations: func(s *sheet, l *claim.LoadAnalysis) *figure {
			return s.stacked(l, "allocations", "Heap allocations per event", "Server and client added up.",
				part{plan.EventServerAllocations, "server", "part0"},
				part{plan.EventClientAllocations, "client", "part1"})
		},
		title: "Delivery, by percentile",
		caption: func(bool) string {
			return "Solid: from when an event was due until it was decoded, with the interval from leaving out each " +
				"round. Grey: fewer than 100 events lie beyond. Dashed: from when it was sent."
		},
		quantiles: []string{plan.DeliveryP50, plan.DeliveryP90, plan.DeliveryP99, plan.DeliveryP999},
		stages:    func() []stage { return nil },
		waited:    func(*result.Trial) waited { return waited{merged: 1} },
	}
}

// bothWays returns the bars of bytes per call, or per send.
func (s *sheet) bothWays(l *claim.LoadAnalysis, per string) *figure {
	return s.stacked(l, "bytes", "Bytes on the wire per "+per,
		"All bytes through the sockets, headers and encryption included.",
		part{plan.WireSent, "sent", "part0"}, part{plan.WireReceived, "received", "part1"})
}
