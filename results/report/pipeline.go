package report

import (
	"slices"
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// Processes are what the processes of pipelines used, by what they do.
type Processes struct {
	// Roles are what any arm has, on an entry's way: gateway, broker, listener,
	// logger, database, driver.
	Roles []string
	// CPU is ns for each entry, of each arm and role; 0 where there is no such
	// process, or no figure.
	CPU [][]float64
	// Why is why an arm has no figures; "" if it has.
	Why  []string
	Unit Unit

	refused [][]float64 // as CPU: of arms without figures, what is to be printed all the same
}

// ProcessesOf returns what processes used under a load, nil where no arm is a
// pipeline.
func ProcessesOf(l *claim.LoadAnalysis) *Processes {
	p := &Processes{
		CPU: make([][]float64, len(l.Arms)), Why: make([]string, len(l.Arms)),
		refused: make([][]float64, len(l.Arms)),
	}
	roles := []string{"gateway", "broker", "listener", "logger", "database", "driver"}
	used := make([]bool, len(roles))
	some := false
	var values []float64
	for a := range l.Arms {
		arm := &l.Arms[a]
		cpu, refused := make([]float64, len(roles)), make([]float64, len(roles))
		for _, part := range arm.Parts {
			some = true
			cpu[slices.Index(roles, roleOf(part.Name))] += part.CPU
			if one := part.Refused.Shown("cpu"); one != nil {
				refused[slices.Index(roles, roleOf(part.Name))] += one.Value
				refused[4], refused[5] = shownRefused(l, plan.DatabaseCPU, a), shownRefused(l, plan.ClientCPU, a)
			}
		}
		if arm.Spoiled(metric.Metric{ID: plan.ServerCPU}) != "" {
			p.Why[a] = "refused by a check"
			if row := l.Row(plan.ServerCPU); row != nil && row.Cells[a].Estimate.Why != "" {
				p.Why[a] = row.Cells[a].Estimate.Why
			}
		}
		switch {
		case p.Why[a] != "":
			cpu = make([]float64, len(roles))
		case len(arm.Parts) == 0:
			p.Why[a] = "not measured"
		default:
			cpu[4], cpu[5] = known(l, plan.DatabaseCPU, a), known(l, plan.ClientCPU, a)
		}
		for i, v := range cpu {
			used[i] = used[i] || v > 0 || refused[i] > 0
		}
		p.CPU[a], p.refused[a] = cpu, refused
		values = append(append(values, cpu...), refused...)
	}
	if !some {
		return nil
	}
	for i, role := range roles {
		if used[i] {
			p.Roles = append(p.Roles, role)
		}
	}
	for _, figures := range [...][][]float64{p.CPU, p.refused} {
		for a, cpu := range figures {
			var kept []float64
			for i := range cpu {
				if used[i] {
					kept = append(kept, cpu[i])
				}
			}
			figures[a] = kept
		}
	}
	p.Unit = UnitFor(metric.Time, values...)
	return p
}

// roleOf is what a process of a pipeline does. A stack calls its own by their
// roles; what else there is is a broker, by its product's name.
func roleOf(name string) string {
	switch {
	case name == "gateway" || name == "logger":
		return name
	case strings.HasPrefix(name, "listener"):
		return "listener"
	}
	return "broker"
}

// known is an arm's figure of a metric, 0 where there is none.
func known(l *claim.LoadAnalysis, id string, arm int) float64 {
	if row := l.Row(id); row != nil && row.Cells[arm].Estimate.Known {
		return row.Cells[arm].Estimate.Value
	}
	return 0
}

// shownRefused is a refused value of an arm that is to be printed, 0 where there is none.
func shownRefused(l *claim.LoadAnalysis, id string, arm int) float64 {
	if row := l.Row(id); row != nil && row.Cells[arm].Estimate.ShownRefused() != nil {
		return row.Cells[arm].Estimate.Refused.Value
	}
	return 0
}

// Sum is what all processes of an arm used together, in ns for each entry.
func (p *Processes) Sum(arm int) float64 { return sum(p.CPU[arm]) }

func sum(all []float64) (total float64) {
	for _, v := range all {
		total += v
	}
	return total
}

// Text writes what a process, or all of an arm's, used.
func (p *Processes) Text(cpu float64) string {
	if cpu <= 0 {
		return Absent
	}
	return Significant(cpu/p.Unit.Size, 3)
}

// text writes a figure, or what was refused of it.
func (p *Processes) text(cpu, refused float64) string {
	if refused > 0 {
		return Refused(p.Text(refused))
	}
	return p.Text(cpu)
}

// columns are a column for each role and one for all together; none of nil.
func (p *Processes) columns() []armColumn {
	if p == nil {
		return nil
	}
	var all []armColumn
	for i, role := range p.Roles {
		column := armColumn{head: role, unit: p.Unit.Name}
		for a := range p.CPU {
			column.cells = append(column.cells, p.text(p.CPU[a][i], p.refused[a][i]))
		}
		all = append(all, column)
	}
	column := armColumn{head: "together", unit: p.Unit.Name}
	for a := range p.CPU {
		column.cells = append(column.cells, p.text(p.Sum(a), sum(p.refused[a])))
	}
	return append(all, column)
}

// ProcessCaption says what the columns of [Processes] are of.
const ProcessCaption = "CPU time of each process for each entry, over all rounds. A broker is all of its processes " +
	"together. A database without a figure runs inside the process that stores."
