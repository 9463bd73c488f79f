package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/kind/messages"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report/block"
)

// longOutage is the length from which on an interval without messages is reported for a load without faults.
const longOutage = plan.Duration(100 * time.Millisecond)

// messageShape is the [Shape] of loads of messages.
func messageShape() Shape {
	return Shape{
		Sends: "sends", Done: "Messages acknowledged", short: "/msg", Right: "replies right",
		Account: followedMessages, Checked: "Messages",
		answered: "acknowledged /s", // counts sends: each may carry many messages
		main:     messageMain, Wide: true, named: scenarioOf, paced: plan.Load.Pace,
		under: func(l plan.Load) string {
			if l.Open() {
				return "in scenario " + l.Scenario + " at " + l.SendPace()
			}
			return "in scenario " + l.Scenario + " with " + l.SendPace()
		},
		heads: map[string]string{
			plan.ServerCPU: "broker CPU", plan.ResponseP50: "ack p50", plan.ResponseP99: "ack p99",
			plan.ResponseP90: "", plan.ResponseP999: "",
		},
		limited: func(l *claim.LoadAnalysis) string {
			if l.Open {
				return callLimited(l)
			}
			return "by itself the driver sends less than three times the messages of the fastest arm"
		},
		accounts: func(l *claim.LoadAnalysis) []*block.Table { return []*block.Table{MessageTable(l)} },
		overview: scenarioTable, asked: askedOfBrokers,
	}
}

func messageMain(l *claim.LoadAnalysis) []string {
	ids := []string{l.Primary, plan.MessageRate}
	if slices.Contains(plan.Faults(), l.Scenario) {
		ids = append(ids, plan.SendOutage, plan.DeliveryOutage)
	}
	return append(ids, plan.ResponseP50, plan.DeliveredP50, plan.DeliveredP99, plan.DrainRate, plan.ServerCPU)
}

// messageColumns are the account of the messages of arms, over all rounds. There are
// none where nothing was measured. Rare events, and those that are no fault of a
// broker's, have a column only where an arm has some.
func messageColumns(l *claim.LoadAnalysis) []armColumn {
	if Empty(l) {
		return nil
	}
	outage := func(head, field string, of func(*claim.MessageState) plan.Duration) armColumn {
		return messageColumn(l, head, func(m *claim.MessageState) string {
			return plainOr(m.Refused, field, float64(of(m)), nanos)
		})
	}
	some := func(of func(*claim.MessageState) bool) bool {
		return slices.ContainsFunc(l.Arms, func(a claim.ArmState) bool {
			m := messages.StateOf(&a)
			return of(&m)
		})
	}
	var all []armColumn
	for _, c := range messageCounts() {
		rare := func() bool { return some(func(m *claim.MessageState) bool { return c.of(m) > 0 }) }
		if c.column == result.ColumnAlways || c.column == result.ColumnIfAny && rare() {
			all = append(all, messageColumn(l, strings.ReplaceAll(c.name, "_", " "),
				func(m *claim.MessageState) string { return phrases.Thousands(c.of(m)) }))
		}
	}
	if slices.Contains(plan.Faults(), l.Scenario) || some(func(m *claim.MessageState) bool {
		refused := m.Refused["send_outage"]
		return m.SendOutage >= longOutage || refused != nil && refused.Value >= float64(longOutage)
	}) {
		all = append(all,
			outage("send outage", "send_outage", func(m *claim.MessageState) plan.Duration { return m.SendOutage }),
			outage("delivery outage", "delivery_outage",
				func(m *claim.MessageState) plan.Duration { return m.DeliveryOutage }))
	}
	return all
}

func messageColumn(l *claim.LoadAnalysis, head string, of func(*claim.MessageState) string) armColumn {
	return columnOf(l, head, func(arm *claim.ArmState) string {
		m := messages.StateOf(arm)
		return of(&m)
	})
}

// messageCount is one count of an account of messages, as reports show it.
type messageCount struct {
	name   string
	of     func(*claim.MessageState) uint64
	column result.Column
}

// messageCounts returns everything that an account counts, and the largest backlog, in the order of reports and of
// their data.
func messageCounts() (all []messageCount) {
	for _, c := range result.MessageCounters() {
		of := func(m *claim.MessageState) uint64 { return *c.Of(&m.MessageCounts) }
		all = append(all, messageCount{c.Name, of, c.Column})
	}
	peak := func(m *claim.MessageState) uint64 { return uint64(max(m.Peak, 0)) }
	return append(all, messageCount{"peak_backlog", peak, result.ColumnAlways})
}

// excused is why a message may arrive again, or out of order.
const excused = "after something had been done to the broker or a reader, or when its sender got no answer"

// messageCaption explains the columns of [messageColumns].
func messageCaption(l *claim.LoadAnalysis) string {
	var faults, rare, none []string
	heads := messageColumns(l)
	has := func(head string) bool {
		return slices.ContainsFunc(heads, func(c armColumn) bool { return c.head == head })
	}
	for _, c := range result.MessageCounters() {
		if c.Fault != "" {
			faults = append(faults, c.Name)
		}
		switch {
		case c.Means == "":
		case has(c.Name):
			rare = append(rare, " "+strings.ToUpper(c.Name[:1])+c.Name[1:]+": "+c.Means+".")
		default:
			none = append(none, c.Name)
		}
	}
	text := "Messages of all rounds, each followed by its number; delivered counts each at each group of " +
		"readers. One that is " + either(faults) + " leaves an arm without a figure." + strings.Join(rare, "")
	if len(none) > 0 {
		text += " None was " + either(none) + "."
	}
	if has("unsure") {
		text += " Unsure: not acknowledged, so that it may arrive or not."
	}
	switch {
	case has("redelivered") && has("displaced"):
		text += " Redelivered and displaced: delivered again, or out of order, " + excused +
			", as at-least-once allows."
	case has("redelivered"):
		text += " Redelivered: delivered again " + excused + ", as at-least-once allows."
	case has("displaced"):
		text += " Displaced: delivered out of order " + excused + ", as at-least-once allows."
	}
	if has("send outage") {
		text += " Outages: the longest times of all rounds without an acknowledgement, and without a delivery."
	}
	return text
}

// faults names the fault of a scenario, and how it ends.
func faults(what string) (done, over string) {
	switch what {
	case plan.LeaderKill, plan.FollowerKill:
		return "killed", "back"
	case plan.Crash:
		return "killed", "replaced"
	case plan.Partition:
		return "cut off", "mended"
	case plan.Pause:
		return "stopped", "resumed"
	case plan.DiskFull:
		return "full", "with room again"
	case plan.RollingRestart:
		return "stopped", "back"
	}
	return what, "over"
}

// Disturbances lists the faults under a load, a line for each arm: "rabbitmq: node 2 killed at 7.5 s, back at 9.1 s".
func Disturbances(l *claim.LoadAnalysis) []string {
	return grouped(l, func(arm *claim.ArmState) []string {
		done := messages.StateOf(arm).Done
		if len(done) == 0 {
			return nil
		}
		return []string{": " + strings.Join(disturbed(done), "; ")}
	})
}

// sameTime is the greatest distance between faults that are reported together.
const sameTime = plan.Duration(time.Second)

// disturbed puts together the faults that happened at about the same time in several rounds.
func disturbed(done []result.Disturbance) []string {
	var texts []string
	for _, one := range atOnce(done) {
		texts = append(texts, disturbance(one))
	}
	return texts
}

// atOnce splits faults by their time within a slice.
func atOnce(done []result.Disturbance) (all [][]result.Disturbance) {
	done = slices.Clone(done)
	slices.SortStableFunc(done, func(a, b result.Disturbance) int { return cmp.Compare(a.Began, b.Began) })
	for len(done) > 0 {
		n := 1
		for n < len(done) && done[n].What == done[0].What && done[n].Began-done[0].Began < sameTime {
			n++
		}
		all, done = append(all, done[:n]), done[n:]
	}
	return all
}

// Span is when a fault happened, as the median over all slices, from the beginning of the window. Over is 0 if it
// never ended.
type Span struct{ Began, Over time.Duration }

// Spans returns the faults of an arm.
func Spans(arm *claim.ArmState) []Span {
	var all []Span
	for _, one := range atOnce(messages.StateOf(arm).Done) {
		var began, over []plan.Duration
		for _, d := range one {
			began = append(began, d.Began)
			if d.Over > 0 {
				over = append(over, d.Over)
			}
		}
		span := Span{Began: time.Duration(middle(began))}
		if len(over) > 0 {
			span.Over = time.Duration(middle(over))
		}
		all = append(all, span)
	}
	return all
}

// disturbance describes one fault. Its times are medians over several rounds.
func disturbance(done []result.Disturbance) string {
	var who []string
	var began, over []plan.Duration
	for _, d := range done {
		if !slices.Contains(who, d.Who) {
			who = append(who, d.Who)
		}
		began = append(began, d.Began)
		if d.Over > 0 {
			over = append(over, d.Over)
		}
	}
	slices.Sort(who)
	for i := range who[1:] {
		who[i+1] = strings.TrimPrefix(who[i+1], "node ")
	}
	did, ended := faults(done[0].What)
	text := either(who) + " " + did + " at " + at(middle(began))
	if len(over) == 0 {
		return text + ", never " + ended
	}
	text += ", " + ended + " at " + at(middle(over))
	if len(done) == 1 {
		return text
	}
	text += fmt.Sprintf(" (median of %d", len(done))
	if latest := at(slices.Max(over)); latest != at(middle(over)) {
		text += "; at the latest at " + latest
	}
	if never := len(done) - len(over); never > 0 {
		text += fmt.Sprintf("; %d of them never %s", never, ended)
	}
	return text + ")"
}

// either joins words: "a, b or c".
func either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func middle(all []plan.Duration) plan.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// at writes a time within a slice: "7.5 s".
func at(d plan.Duration) string { return fmt.Sprintf("%.1f s", time.Duration(d).Seconds()) }

// Account summarises an arm's account in a word or two: "whole", "whole, 12 redelivered", "3 missing, 1 corrupted".
func Account(arm *claim.ArmState) string {
	if arm.Rounds == 0 {
		return Absent
	}
	m := messages.StateOf(arm)
	faults := m.FaultWords(func(n uint64, of result.MessageCounter) string {
		return phrases.Thousands(n) + " " + of.Name
	})
	switch {
	case faults != "":
		return faults
	case m.Redelivered > 0:
		return "whole, " + phrases.Thousands(m.Redelivered) + " redelivered"
	}
	return "whole"
}

// scenarioTable puts what several loads of messages came to into one table, a row for each scenario and arm, by what
// decides under the scenario.
func scenarioTable(r *result.Result, a *claim.Analysis) *block.Table {
	t := &block.Table{
		ID: "scenarios", Title: "All scenarios", Caption: ScenarioCaption,
		Columns: block.Columns("scenario", "arm", ">place", "decides", ">", ">delivered p50", ">p99", ">messages/s",
			">outage", "account"),
		Data: [][]string{{
			"scenario", "arm", "place", "decides", "figure", "delivered p50", "delivered p99", "messages/s", "outage",
			"account",
		}},
	}
	for i := range a.Loads {
		l := &a.Loads[i]
		m, err := kinds.MetricOf(l, l.Primary)
		if err != nil || Empty(l) {
			continue
		}
		figure := func(arm int, ids ...string) string {
			for _, id := range ids {
				if m, row := metricOf(l, id), l.Row(id); row != nil &&
					(row.Cells[arm].Estimate.Known || row.Cells[arm].Estimate.ShownRefused() != nil) {
					return With(row.Cells[arm].Estimate, RowUnit(m, row)) + Marks(&l.Arms[arm], m)
				}
			}
			return Absent
		}
		for arm := range l.Arms {
			decides := figure(arm, m.ID)
			if why := l.Arms[arm].Spoiled(m); why != "" {
				if _, shown := IsRefused(decides); !shown {
					decides = Absent
				}
				decides = strings.TrimPrefix(decides+" "+string(why), Absent+" ")
			}
			line := []string{
				scenarioOf(r.Plan, l.Load), l.Arms[arm].Name, Place(l, arm), m.Short, decides,
				figure(arm, plan.DeliveredP50),
				figure(arm, plan.DeliveredP99), figure(arm, plan.MessageRate, plan.DeliveredRate),
				figure(arm, plan.SendOutage),
				Account(&l.Arms[arm]),
			}
			row := block.Texts(line...)
			for i := range row {
				row[i].Why = refusedBecause(&l.Arms[arm])
			}
			t.Add(row...)
			t.Data = append(t.Data, line)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// ScenarioCaption explains the columns of [ScenarioTable].
const ScenarioCaption = "Place and first figure by what decides under the scenario. Delivered: from when a message " +
	"was due until a reader had it. Messages/s: acknowledged in the window, at a given rate delivered in it. Outage: " +
	"the longest time without an acknowledgement. Whole: each message acknowledged was delivered, once, in order and " +
	"as it was sent; redelivered: delivered again " + excused + "."

// metricOf returns a metric with a load's words; the zero metric if there is none.
func metricOf(l *claim.LoadAnalysis, id string) metric.Metric {
	m, _ := kinds.MetricOf(l, id)
	return m
}

// scenarioOf names a load among several by its scenario. It adds the rest if another load has the same scenario.
func scenarioOf(p plan.Plan, load int) string {
	l := p.Loads[load]
	for i, other := range p.Loads {
		if i != load && other.Scenario == l.Scenario {
			return LoadName(p, load)
		}
	}
	return l.Scenario
}

// messageWords returns the words for comparing arms that move messages.
func messageWords(m metric.Metric) (worded, bool) {
	switch m.ID {
	case plan.MessageRate:
		return worded{" of messages acknowledged", "is fastest", "moves %s more messages", "moves %s fewer messages"},
			true
	case plan.DeliveredRate:
		return worded{
			" of messages delivered", "is fastest", "delivers %s more messages",
			"delivers %s fewer messages",
		}, true
	case plan.DrainRate:
		return worded{
			" of messages that had waited", "is fastest with a backlog", "reads %s more messages",
			"reads %s fewer messages",
		}, true
	case plan.SendOutage:
		return worded{
			" without an acknowledgement at the longest", "has the shortest outage",
			"has an outage %s longer", "has an outage %s shorter",
		}, true
	case plan.DeliveryOutage:
		return worded{
			" without a delivery at the longest", "has the shortest outage", "has an outage %s longer",
			"has an outage %s shorter",
		}, true
	case plan.DiskPerMessage:
		return worded{" " + m.Title, "writes least to disk", "writes %s more", "writes %s less"}, true
	case plan.ServerCPU:
		if strings.HasSuffix(m.Title, "per message") {
			return worded{" of CPU per message", "is cheapest on the broker", "costs %s more", "costs %s less"}, true
		}
	case plan.ClientCPU:
		if strings.HasSuffix(m.Title, "per message") {
			return worded{" of CPU per message", "is cheapest on the client", "costs %s more", "costs %s less"}, true
		}
	}
	return worded{}, false
}

// askedOfBrokers says how many nodes each broker has, and what its acknowledgements
// were to promise.
func askedOfBrokers(r *result.Result) []Fact {
	who := map[string][]string{}
	for i, a := range r.Plan.Arms {
		asked := r.Plan.DurabilityOf(a)
		who[asked] = append(who[asked], r.ArmName(i))
	}
	nodes := fmt.Sprintf("%d nodes each", r.Plan.Nodes)
	if r.Plan.Nodes == 1 {
		nodes = "1 node each"
	}
	var asked []string
	for _, d := range []struct{ durability, words string }{
		{plan.DurabilityFsync, "an acknowledgement is to promise that a quorum has it on disk"},
		{plan.DurabilityDefault, "an acknowledgement promises what it does with the broker's default settings"},
	} {
		switch arms := who[d.durability]; {
		case len(arms) == len(r.Plan.Arms):
			asked = append(asked, d.words)
		case len(arms) > 0:
			asked = append(asked, d.words+" ("+List(arms)+")")
		}
	}
	if r.Plan.Plays(plan.DiskFull) {
		asked = append(asked, "their disk is of memory, so that it can be filled: no time here is a disk's")
	}
	if r.Plan.Plays(plan.Partition) {
		asked = append(asked, "each node is on its own host, in a network namespace")
	}
	return []Fact{{Name: "brokers", Text: strings.Join(append([]string{nodes}, asked...), "; ")}}
}

// followedMessages says how many messages were followed to their readers, and how many arms lost or damaged some.
func followedMessages(a *claim.Analysis) string {
	expected, wrong := uint64(0), map[string]bool{}
	for i := range a.Loads {
		for n := range a.Loads[i].Arms {
			arm := &a.Loads[i].Arms[n]
			expected += messages.StateOf(arm).Expected
			for _, c := range arm.Checks {
				if !c.OK && (c.Gate == result.Delivery || c.Gate == result.Answers) {
					wrong[arm.Name] = true
				}
			}
		}
	}
	text := phrases.Thousands(expected) + " messages followed to their readers"
	if len(wrong) > 0 {
		return text + fmt.Sprintf("; %d of the arms have errors, see below", len(wrong))
	}
	return text + ", none missing, duplicated, reordered or corrupted"
}
