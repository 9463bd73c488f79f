package report

import (
	"fmt"
	"strings"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	phrases "wirelab/lab/result/words"
)

// Database says in one line which databases the servers used, where these ran and how the servers connected. It
// returns "" if all data was in memory.
func Database(r *result.Result) string {
	var who Groups[string, string]
	var memory []string
	for i, a := range r.Arms {
		if a.Database == "" {
			memory = append(memory, r.ArmName(i))
			continue
		}
		who.Add(a.Database+placeOf(r, i), r.ArmName(i))
	}
	parts := who.Each(func(text string, arms []string) string {
		return text + choose(len(arms) < len(r.Arms), " ("+List(arms)+")", "")
	})
	if len(parts) > 0 && len(memory) > 0 {
		parts = append(parts, "memory ("+List(memory)+")")
	}
	return strings.Join(parts, "; ")
}

// placeOf says where an arm's database ran, and over how many connections its server used it.
func placeOf(r *result.Result, arm int) string {
	for _, round := range r.Rounds {
		for i := range round.Trials {
			t := &round.Trials[i]
			if t.Arm != arm || t.Database == nil {
				continue
			}
			var text string
			switch d := t.Database; {
			case d.Within:
				return " inside the server"
			case d.Processes == nil:
				text = ", its processes not seen"
			case len(r.Placement.DatabaseCPUs) > 0:
				text = " on CPU " + numbers(r.Placement.DatabaseCPUs)
			case len(d.Processes.CPUs) < r.Environment.CPUs:
				text = " that may run on CPU " + numbers(d.Processes.CPUs)
			default:
				text = " that may run on any CPU"
			}
			if t.Pool != nil {
				text += fmt.Sprintf(", pools of %d connections", t.Pool.Size)
			}
			return text
		}
	}
	return ""
}

// Saturation says for each arm with a database what limited the arm, and how much the database did for its own
// maintenance.
func Saturation(l *claim.LoadAnalysis) []string {
	return grouped(l, func(arm *claim.ArmState) []string {
		if arm.Database == nil || arm.Rounds == 0 {
			return nil
		}
		lines := []string{": " + arm.Database.Saturation.Says}
		if kept := Maintenance(arm); kept != "" {
			lines = append(lines, ": "+kept)
		}
		return lines
	})
}

// worthwhile is the share of a database's CPU time spent on no call from which on the report mentions it.
const worthwhile = 0.05

// Maintenance says how much of the CPU time of an arm's database was used for no connection; "" if that is negligible.
func Maintenance(arm *claim.ArmState) string {
	if arm.Database == nil {
		return ""
	}
	var parts []string
	for _, b := range arm.Database.Saturation.Busy {
		if b.Background > worthwhile*b.Used {
			parts = append(parts,
				Percent(b.Background/b.Used)+" of the database's CPU time was maintenance (log, checkpoints, "+
					"vacuum), some of it for these calls")
		}
	}
	if n := arm.Database.Checkpoints; n == 1 {
		parts = append(parts, "1 checkpoint of the database began while it was measured")
	} else if n > 1 {
		parts = append(parts, phrases.Thousands(n)+" checkpoints of the database began while it was measured")
	}
	return strings.Join(parts, "; ")
}

// Counted is a column of counts per call, on average, from the arms' databases.
type Counted struct {
	ID    string // of the [claim.Count]
	Head  string // "database log/req"
	Unit  Unit
	Cells []CountedCell // one for each arm
}

// CountedCell is the value of one arm. Known is false if its database does not report it.
type CountedCell struct {
	Known bool
	Value float64 // in the dimension's own unit
	Text  string  // without the unit

	refused *claim.Refused // instead of a value
}

// value returns the count, refused or not.
func (c CountedCell) value() float64 {
	if c.refused != nil {
		return c.refused.Value
	}
	return c.Value
}

// Counts returns the columns of what databases did for each call under a load. It leaves out columns that are 0 for
// all arms.
func Counts(l *claim.LoadAnalysis) []Counted {
	var all []Counted
	per := ShapeOf(l.Kind).short
	index := map[string]int{}
	dimension := map[string]metric.Dimension{}
	for a := range l.Arms {
		if l.Arms[a].Database == nil {
			continue
		}
		for _, c := range l.Arms[a].Database.Counts {
			if c.Refused != nil && !c.Refused.Shown {
				continue
			}
			at, ok := index[c.ID]
			if !ok {
				at = len(all)
				index[c.ID], dimension[c.ID] = at, c.Dimension
				all = append(all, Counted{ID: c.ID, Head: c.Title + per, Cells: make([]CountedCell, len(l.Arms))})
			}
			if all[at].Cells[a] = (CountedCell{Known: true, Value: c.Value}); c.Refused != nil {
				all[at].Cells[a] = CountedCell{refused: c.Refused}
			}
		}
	}
	kept := all[:0]
	for _, c := range all {
		var values []float64
		for _, cell := range c.Cells {
			if v := cell.value(); v > 0 {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			continue
		}
		c.Unit = UnitFor(dimension[c.ID], values...)
		for a := range c.Cells {
			if c.Cells[a].Text = Absent; c.Cells[a].Known {
				c.Cells[a].Text = Significant(c.Cells[a].Value/c.Unit.Size, 2)
			} else if c.Cells[a].refused != nil {
				c.Cells[a].Text = Refused(Significant(c.Cells[a].value()/c.Unit.Size, 2))
			}
		}
		kept = append(kept, c)
	}
	return kept
}
