package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wirelab/lab/kind/entries"
	"wirelab/lab/kind/messages"
	"wirelab/lab/kind/streams"
	"wirelab/lab/result/claim"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report/block"
)

// armColumn is a column of a table with a cell for each arm.
type armColumn struct {
	head, unit string
	cells      []string
}

// armTable completes a table with a row for each arm; nil without columns.
func armTable(l *claim.LoadAnalysis, t block.Table, columns []armColumn) *block.Table {
	if len(columns) == 0 {
		return nil
	}
	t.Columns = block.Columns("arm")
	for _, c := range columns {
		t.Columns = append(t.Columns, block.Column{Head: c.head, Unit: c.unit, Right: true})
	}
	for a := range l.Arms {
		row := []block.Cell{{Text: l.Arms[a].Name}}
		for _, c := range columns {
			row = append(row, block.Cell{Text: c.cells[a], Why: refusedBecause(&l.Arms[a])})
		}
		t.Add(row...)
	}
	return &t
}

// refusedBecause returns the first reason for which figures of an arm are refused.
func refusedBecause(arm *claim.ArmState) string {
	if failed := arm.Failed(); len(failed) > 0 {
		return failed[0].Detail
	}
	return ""
}

// Exact writes a number with all its digits, for programs.
func Exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// ExactUnless writes the number of a field with all its digits, or "" if the field is refused.
func ExactUnless(refused claim.Refusals, field string, v float64) string {
	if refused[field] != nil {
		return ""
	}
	return Exact(v)
}

func integers(all ...uint64) []string {
	texts := make([]string, len(all))
	for i, n := range all {
		texts[i] = strconv.FormatUint(n, 10)
	}
	return texts
}

// columnOf is a column of what each arm did; an arm without a round did nothing.
func columnOf(l *claim.LoadAnalysis, head string, of func(*claim.ArmState) string) armColumn {
	column := armColumn{head: head}
	for a := range l.Arms {
		text := Absent
		if l.Arms[a].Rounds > 0 {
			text = of(&l.Arms[a])
		}
		column.cells = append(column.cells, text)
	}
	return column
}

// Accounts are the tables of what became of what was sent under a load, as its kind has them; none of a load of single
// calls.
func Accounts(l *claim.LoadAnalysis) []*block.Table {
	of := ShapeOf(l.Kind).accounts
	if of == nil {
		return nil
	}
	return slices.DeleteFunc(of(l), func(t *block.Table) bool { return t == nil })
}

// seenTable shows next to metrics how a load did; nil where its kind has no such table.
func seenTable(l *claim.LoadAnalysis) *block.Table {
	if of := ShapeOf(l.Kind).seen; of != nil {
		return of(l)
	}
	return nil
}

// streamTable shows how the streams of a load did.
func streamTable(l *claim.LoadAnalysis) *block.Table {
	t := block.Table{ID: "streams", Title: "What was delivered", Caption: streamCaption(l)}
	return armTable(l, t, streamColumns(l))
}

// EntryTable is the account of entries, by id; nil if entries were not followed.
func EntryTable(l *claim.LoadAnalysis) *block.Table {
	t := &block.Table{
		ID: "entries", Title: "What became of the entries",
		Caption: "Entries of all rounds, each followed by its id. Missing: accepted and never stored. Duplicated: " +
			"came to " +
			"the store again, where each is kept once. Reordered: stored before one that the same caller had sent " +
			"earlier.",
		Columns: block.Columns("arm", ">sent", ">accepted", ">confirmed", ">stored", ">missing", ">duplicated",
			">reordered"),
		Data: [][]string{{"arm", "sent", "accepted", "confirmed", "stored", "missing", "duplicated", "reordered"}},
	}
	known := entries.Arms(l)
	for a := range l.Arms {
		arm := &l.Arms[a]
		row := lineOf(arm, 0, slices.Repeat([]string{Absent}, len(t.Columns)-1)...)
		if e := entries.StateOf(arm); slices.Contains(known, a) {
			all := []uint64{e.Sent, e.Accepted, e.Confirmed, e.Stored, e.Missing, e.Duplicated, e.Reordered}
			for i, n := range all {
				row[i+1].Text = phrases.Thousands(n)
			}
			t.Data = append(t.Data, append([]string{arm.Name}, integers(all...)...))
		}
		t.Add(row...)
	}
	if len(t.Data) == 1 {
		return nil
	}
	return t
}

// MessageTable is the account of messages, with what was done to the brokers; nil where nothing was measured.
func MessageTable(l *claim.LoadAnalysis) *block.Table {
	t := armTable(l, block.Table{
		ID: "messages", Title: "What became of the messages", Caption: messageCaption(l),
		Notes: block.Notes{Kind: block.Done, Lines: Disturbances(l)},
	}, messageColumns(l))
	if t == nil {
		return nil
	}
	heads := []string{"arm"}
	for _, c := range messageCounts() {
		heads = append(heads, c.name)
	}
	t.Data = [][]string{append(heads, "send_outage_ns", "delivery_outage_ns", "early")}
	for i := range l.Arms {
		arm := &l.Arms[i]
		if arm.Rounds == 0 {
			continue
		}
		m := messages.StateOf(arm)
		line := []string{arm.Name}
		for _, c := range messageCounts() {
			line = append(line, strconv.FormatUint(c.of(&m), 10))
		}
		t.Data = append(t.Data, append(line, ExactUnless(m.Refused, "send_outage", float64(m.SendOutage)),
			ExactUnless(m.Refused, "delivery_outage", float64(m.DeliveryOutage)), m.Early))
	}
	return t
}

// ProcessTable lists the CPU time of each process of a pipeline; nil if no arm is a pipeline.
func ProcessTable(l *claim.LoadAnalysis) *block.Table {
	p := ProcessesOf(l)
	t := armTable(l, block.Table{
		ID: "processes", Title: "What each process used for an entry", Caption: ProcessCaption,
	}, p.columns())
	if t == nil {
		return nil
	}
	t.Data = [][]string{{"arm", "process", "cpu_ns"}}
	for a := range p.CPU {
		for i, cpu := range p.CPU[a] {
			if cpu > 0 {
				t.Data = append(t.Data, []string{l.Arms[a].Name, p.Roles[i], Exact(cpu)})
			}
		}
	}
	return t
}

// clientsShown is how many streams of an arm a table lists.
const clientsShown = 64

// ClientTable lists the streams of a load one by one, over all rounds. Rates are of the single stream. It is nil for
// slow readers, for which the events that they did not read matter more.
func ClientTable(l *claim.LoadAnalysis) *block.Table {
	if l.Slow {
		return nil
	}
	t := &block.Table{
		ID: "clients", Title: "Each stream by itself", File: "streams",
		Columns: block.Columns("arm", ">stream", ">due /s", ">delivered /s", ">events", ">missing", ">twice",
			">out of order",
			">wrong", ">delivery p50 µs", ">delivery p99 µs", ">jitter p99 µs"),
	}
	t.Data = [][]string{{
		"arm", "stream", "target", "achieved", "events", "missing", "duplicated", "reordered", "wrong",
		"delivery_p50_ns", "delivery_p99_ns", "jitter_p99_ns",
	}}
	micros := func(ns float64) string {
		if ns <= 0 {
			return Absent
		}
		return Significant(ns/1e3, 3)
	}
	for a := range l.Arms {
		arm := &l.Arms[a]
		for i, c := range streams.StateOf(arm).Clients {
			line := []string{
				arm.Name, strconv.Itoa(i + 1), Exact(c.Target),
				ExactUnless(c.Refused, "achieved", c.Achieved),
			}
			line = append(line, integers(c.Events, c.Missing, c.Duplicated, c.Reordered, c.Wrong)...)
			t.Data = append(t.Data, append(line, ExactUnless(c.Refused, "delivery_p50", c.DeliveryP50),
				ExactUnless(c.Refused, "delivery_p99", c.DeliveryP99),
				ExactUnless(c.Refused, "jitter_p99", c.JitterP99)))
			if i >= clientsShown {
				continue
			}
			t.Add(lineOf(arm, i, fmt.Sprint(i+1), events(c.Target), plainOr(c.Refused, "achieved", c.Achieved, events),
				phrases.Thousands(c.Events), phrases.Thousands(c.Missing), phrases.Thousands(c.Duplicated),
				phrases.Thousands(c.Reordered), phrases.Thousands(c.Wrong),
				plainOr(c.Refused, "delivery_p50", c.DeliveryP50, micros),
				plainOr(c.Refused, "delivery_p99", c.DeliveryP99, micros),
				plainOr(c.Refused, "jitter_p99", c.JitterP99, micros))...)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// lineOf is the i-th line of an arm. Only the first line has the arm's name.
func lineOf(arm *claim.ArmState, i int, figures ...string) []block.Cell {
	row := []block.Cell{{Text: arm.Name}}
	if i > 0 {
		row[0].Text = ""
	}
	for _, text := range figures {
		row = append(row, block.Cell{Text: text, Why: refusedBecause(arm)})
	}
	return row
}

// CountTable lists what databases did for each call; nil if they do not report it.
func CountTable(l *claim.LoadAnalysis) *block.Table {
	var columns []armColumn
	heads, data := []string{"arm"}, make([][]string, len(l.Arms))
	for a := range l.Arms {
		data[a] = []string{l.Arms[a].Name}
	}
	for _, c := range Counts(l) {
		column := armColumn{head: c.Head, unit: c.Unit.Name}
		heads = append(heads, c.ID)
		for a, one := range c.Cells {
			column.cells = append(column.cells, one.Text)
			value := ""
			if one.Known {
				value = Exact(one.Value)
			}
			data[a] = append(data[a], value)
		}
		columns = append(columns, column)
	}
	t := armTable(l, block.Table{
		ID: "counts", Title: "What the database did", File: "database", Data: append([][]string{heads}, data...),
	}, columns)
	if t != nil {
		for i, c := range t.Columns {
			t.Columns[i].Short = strings.Replace(c.Name(), "database", "db", 1)
		}
	}
	return t
}

// StepTable lists how long each call of a chain takes, over all rounds; nil if there are no chains.
func StepTable(l *claim.LoadAnalysis) *block.Table {
	unit := stepUnit(l)
	t := &block.Table{
		ID: "steps", Title: "What each step takes",
		Caption: "Times of each call of a chain, of the chains that came back right, from when its request was sent " +
			"until its whole reply had come. The share is of the time of all chains; the rest up to 100 % passes " +
			"in the " +
			"load generator, between one reply and the next request.",
		Columns: block.Columns("arm", "step", ">p50", ">p90", ">p99", ">share"),
		Data:    [][]string{{"arm", "step", "name", "p50_ns", "p90_ns", "p99_ns", "share"}},
	}
	for i := range t.Columns[2:5] {
		t.Columns[2+i].Unit = unit.Name
	}
	known := func(e claim.Estimate) string {
		if !e.Known {
			return ""
		}
		return Exact(e.Value)
	}
	for a := range l.Arms {
		for i, s := range l.Arms[a].Steps {
			t.Add(lineOf(&l.Arms[a], i, strconv.Itoa(i+1)+" "+s.Name,
				Value(s.P50, unit), Value(s.P90, unit), Value(s.P99, unit), stepShare(s.Share))...)
			t.Data = append(t.Data, []string{
				l.Arms[a].Name, strconv.Itoa(i + 1), s.Name, known(s.P50), known(s.P90), known(s.P99), known(s.Share),
			})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
