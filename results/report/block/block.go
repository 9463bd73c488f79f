// Package block has the parts of a report: headings, facts, notes, tables and figures. Each part is made once, from a
// result and its analysis, and every format writes it. So no format can contradict another.
//
// A block contains texts, with units and marks. It knows nothing of results. It also knows nothing of the width of a
// page, of bold text or of line breaks, which depend on the format.
package block

import (
	"slices"
	"strings"
)

// Block is one of [Heading], [Facts], [Notes], [Table], [Metrics], [Figure] and [Pause].
type Block interface{ block() }

// Part has blocks that belong together: "load", "method".
type Part struct {
	ID     string
	Blocks []Block
}

// Heading begins a part of a report.
type Heading struct {
	Text string
	Name bool // it is a name, which keeps its spelling within a line
}

// Fact is a name and its value. A fact without a name belongs to the fact above it.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Tone Tone   `json:"-"`
}

// Facts are lines with names.
type Facts []Fact

// Notes are sentences of one kind.
type Notes struct {
	Kind  Kind
	Title string // above the notes, if they need one
	Lines []string
	Tone  Tone // of all lines, if it differs from that of the kind
}

// Kind is the purpose of a note.
type Kind int

// The kinds.
const (
	// Remark is about the block before it.
	Remark Kind = iota
	// Answer is the result, in parts of one line. Claim is a sentence of it, Point one item of a list.
	Answer
	Claim
	Point
	// Mark explains a mark after a figure, RefusedMark the mark of refused values.
	Mark
	RefusedMark
	// Check says how the checks went, Limit what limited an arm, Done which faults a broker had.
	Check
	Limit
	Done
	// Source names the source of figures, for formats that leave that column out.
	Source
	// Setting says how calls arrived, Method how to read a part.
	Setting
	Method
	// Prose is an ordinary sentence.
	Prose
)

// Table has rows of cells, and a head for each column.
type Table struct {
	// ID identifies the content of the table: "messages". Formats choose their layout by it.
	ID      string
	Title   string
	Columns []Column
	Rows    [][]Cell
	Caption string
	// Notes belong to the table, and follow it.
	Notes Notes
	// Data are the figures with all digits, heads first, for programs. It is empty if the rows are texts.
	Data [][]string
	// File is the name of the data, if it is not the ID.
	File string
}

// Column heads a column.
type Column struct {
	Head, Unit string
	Short      string // the head if there is little space; "" if it is the same
	Told       bool   // the head of the report says the same, and formats with little space leave the column out
	Right      bool   // the column has figures, which are aligned right
}

// Name is the head with the unit.
func (c Column) Name() string { return strings.TrimSpace(c.Head + " " + c.Unit) }

// Cell is a place in a table.
type Cell struct {
	Text  string
	Short string // the text if there is little space; "" if it is the same
	// Why is why the figure is refused; "" if it is not.
	Why string
	// Tone is what the text says about the arm. The text itself says it too.
	Tone Tone
	// Strong emphasises the text.
	Strong bool
	// List has texts of one cell, below each other. Text is empty then.
	List []string
}

// Tone says whether a text is good, bad or undecided for the arm.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Good
	Bad
	Same
	Open
	Quiet
	Claimed // neither good nor bad
)

// Metrics are figures of arms, each with its difference from the first arm's. Formats use a column or rows for each
// metric.
type Metrics struct {
	ID      string
	Arms    []Arm
	Columns []Metric
}

// Arm is one of the compared arms.
type Arm struct {
	Name, About, Place string
	Floored            bool // it was measured against a server that does nothing
}

// Metric has a figure of each arm.
type Metric struct {
	ID, Title, Short, Unit string
	// Primary is the metric that decides. Counted is a count without differences.
	Primary, Counted bool
	Figures          []Measured // one for each arm
}

// Name is the short name with the unit.
func (m Metric) Name() string { return strings.TrimSpace(m.Short + " " + m.Unit) }

// Measured is a figure of an arm.
type Measured struct {
	Value, Marks string // without the unit
	Text         string // with unit and marks
	Bounds       string // its interval
	// Change, Interval and Verdict describe the difference. Sign is the verdict as a character, and Tone what it says
	// about the arm.
	Change, Interval, Verdict, Sign string
	Tone                            Tone
	Floor                           string // measured against a server that does nothing; "" if there is none
	FloorText                       string // with the unit
	Why                             string // why the figure is refused; "" if it is not
	Key                             string // its place in the analysis
}

// Claimed reports whether a difference is claimed.
func (m Measured) Claimed() bool { return m.Sign == "*" }

// Figure is a drawing of a value. Only formats that can draw show it. A table has the same figures.
type Figure struct{ Of any }

// Pause separates blocks in formats without margins.
type Pause struct{}

func (Heading) block()  {}
func (Facts) block()    {}
func (Notes) block()    {}
func (*Table) block()   {}
func (*Metrics) block() {}
func (Figure) block()   {}
func (Pause) block()    {}

// Columns returns columns with the given heads. A head that begins with ">" is for a column of figures, any other for
// words.
func Columns(heads ...string) []Column {
	all := make([]Column, len(heads))
	for i, head := range heads {
		all[i].Head, all[i].Right = strings.CutPrefix(head, ">")
	}
	return all
}

// Texts returns cells that have only a text.
func Texts(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	return row
}

// Without returns the table without the columns that have the given heads and, if told is true, without those marked
// Told.
func (t *Table) Without(told bool, heads ...string) *Table {
	short := *t
	short.Columns, short.Rows = nil, make([][]Cell, len(t.Rows))
	for i, c := range t.Columns {
		if told && c.Told || slices.Contains(heads, c.Head) {
			continue
		}
		short.Columns = append(short.Columns, c)
		for n := range t.Rows {
			short.Rows[n] = append(short.Rows[n], t.Rows[n][i])
		}
	}
	return &short
}

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }
