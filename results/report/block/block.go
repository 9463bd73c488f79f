// Package block is what a report is made of: headings, facts, notes, tables and figures. Each is made once, from a
// result and its analysis, and every form writes the same: so no form can say what another does not.
//
// A block holds texts, with units and marks. It knows nothing of results, and nothing of how wide a page is, what is
// bold or where a line ends: that is for the form that writes it.
package block

import (
	"slices"
	"strings"
)

// Block is one of [Heading], [Facts], [Notes], [Table], [Metrics], [Figure] and [Pause].
type Block interface{ block() }

// Part is blocks that belong together: "load", "method".
type Part struct {
	ID     string
	Blocks []Block
}

// Heading begins a part of a report.
type Heading struct {
	Text string
	Name bool // it is a name, which is written as it is in the middle of a line too
}

// Fact is something that is known, with its name. One without a name belongs to the fact above it.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Tone Tone   `json:"-"`
}

// Facts are named.
type Facts []Fact

// Notes are sentences of one kind.
type Notes struct {
	Kind  Kind
	Title string // over the notes, where they need one
	Lines []string
	Tone  Tone // of all lines, where it is not that of the kind
}

// Kind is what a note is for.
type Kind int

// The kinds.
const (
	// Remark is what is to be known of what stands before it.
	Remark Kind = iota
	// Answer is what was found, in parts of one line; Claim is a sentence of it, Point one of several that are listed.
	Answer
	Claim
	Point
	// Mark says what a mark behind a figure means, RefusedMark what that of refused values means.
	Mark
	RefusedMark
	// Check is how the checks went, Limit what limited an arm, Done what was done to a broker.
	Check
	Limit
	Done
	// Source says where figures come from, for forms that leave that column out.
	Source
	// Setting says how calls came, Method how a part is to be read.
	Setting
	Method
	// Prose is a sentence like any other.
	Prose
)

// Table is rows of cells under heads of as many.
type Table struct {
	// ID names what the table is of: "messages". Forms choose their layout by it.
	ID      string
	Title   string
	Columns []Column
	Rows    [][]Cell
	Caption string
	// Notes stand below the table, and belong to it.
	Notes Notes
	// Data are the figures with all digits, heads first, for programs. None where the rows are texts.
	Data [][]string
	// File names the data where it is not the ID.
	File string
}

// Column heads a column.
type Column struct {
	Head, Unit string
	Short      string // the head where there is little room; "" for the same
	Told       bool   // each row says what the head of the report says; forms with little room leave the column out
	Right      bool   // it holds figures, which stand below each other by their ends
}

// Name is the head with the unit.
func (c Column) Name() string { return strings.TrimSpace(c.Head + " " + c.Unit) }

// Cell is a place in a table.
type Cell struct {
	Text  string
	Short string // the text where there is little room; "" for the same
	// Why is why the figure is refused, where it is.
	Why string
	// Tone is what the text says of the arm; the text says it too.
	Tone Tone
	// Strong is a text that the eye is to find first.
	Strong bool
	// List are texts that stand in one place below each other. Text is empty then.
	List []string
}

// Tone is whether what a text says is good, bad or not to be told.
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

// Metrics are figures of arms, each with its difference from the first arm's. A form has a column or rows for each
// metric.
type Metrics struct {
	ID      string
	Arms    []Arm
	Columns []Metric
}

// Arm is what is compared.
type Arm struct {
	Name, About, Place string
	Floored            bool // it is known what it would do before a server that does nothing
}

// Metric is what arms have a figure of.
type Metric struct {
	ID, Title, Short, Unit string
	// Primary is the one that decides. Counted is one of which there are no differences to show, all being 0 or not.
	Primary, Counted bool
	Figures          []Measured // one of each arm
}

// Name is the short name with the unit.
func (m Metric) Name() string { return strings.TrimSpace(m.Short + " " + m.Unit) }

// Measured is a figure of an arm.
type Measured struct {
	Value, Marks string // without the unit
	Text         string // with unit and marks
	Bounds       string // its own interval
	// Change, Interval and Verdict are the difference, Sign the verdict in a character and Tone what it says of the
	// arm.
	Change, Interval, Verdict, Sign string
	Tone                            Tone
	Floor                           string // the same before a server that does nothing; "" where there is none
	FloorText                       string // with the unit
	Why                             string // why the figure is refused, where it is
	Key                             string // where the analysis has it
}

// Claimed reports whether a difference is claimed.
func (m Measured) Claimed() bool { return m.Sign == "*" }

// Figure is a drawing of what it is of. Only forms that can draw show it; its figures stand in a table too.
type Figure struct{ Of any }

// Pause parts blocks where a form has no margins.
type Pause struct{}

func (Heading) block()  {}
func (Facts) block()    {}
func (Notes) block()    {}
func (*Table) block()   {}
func (*Metrics) block() {}
func (Figure) block()   {}
func (Pause) block()    {}

// Columns are columns with such heads: of figures where a head begins with ">", of words where not.
func Columns(heads ...string) []Column {
	all := make([]Column, len(heads))
	for i, head := range heads {
		all[i].Head, all[i].Right = strings.CutPrefix(head, ">")
	}
	return all
}

// Texts are cells without anything beside their texts.
func Texts(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	return row
}

// Without returns the table without the columns that have such heads, and where told is true without those that are.
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
