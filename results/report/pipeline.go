package report

import (
	"slices"
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// Processes is the CPU time of the processes of pipelines, by role.
type Processes struct {
	// Roles are the roles that any arm has, in the order in which an entry passes them: gateway, broker, listener,
	// logger, database, driver.
	Roles []string
	// CPU is in ns per entry, by arm and role; 0 if there is no such process or no figure.
	CPU [][]float64
	// Why is why an arm has no figures; "" if it has.
	Why  []string
	Unit Unit

	refused [][]float64 // like CPU: refused figures that are to be printed
}

// ProcessesOf returns the CPU time of processes under a load; nil if no arm is a pipeline.
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

// roleOf returns the role of a pipeline's process. A stack names its own processes by their roles. Any other process
// is a broker, named after its product.
func roleOf(name string) string {
	switch {
	case name == "gateway" || name == "logger":
		return name
	case strings.HasPrefix(name, "listener"):
		return "listener"
	}
	return "broker"
}

// known returns an arm's figure of a metric, or 0 if there is none.
func known(l *claim.LoadAnalysis, id string, arm int) float64 {
	if row := l.Row(id); row != nil && row.Cells[arm].Estimate.Known {
		return row.Cells[arm].Estimate.Value
	}
	return 0
}

// shownRefused returns an arm's refused value if it is to be printed, else 0.
func shownRefused(l *claim.LoadAnalysis, id string, arm int) float64 {
	if row := l.Row(id); row != nil && row.Cells[arm].Estimate.ShownRefused() != nil {
		return row.Cells[arm].Estimate.Refused.Value
	}
	return 0
}

// Sum is the CPU time of all processes of an arm, in ns per entry.
func (p *Processes) Sum(arm int) float64 { return sum(p.CPU[arm]) }

func sum(all []float64) (total float64) {
	for _, v := range all {
		total += v
	}
	return total
}

// Text writes the CPU time of a process, or of an arm.
func (p *Processes) Text(cpu float64) string {
	if cpu <= 0 {
		return Absent
	}
	return Significant(cpu/p.Unit.Size, 3)
}

// text writes a figure, or the refused figure.
func (p *Processes) text(cpu, refused float64) string {
	if refused > 0 {
		return Refused(p.Text(refused))
	}
	return p.Text(cpu)
}

// columns returns a column for each role and one for the sum; none if p is nil.
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

// ProcessCaption says what the columns of [Processes] mean.
const ProcessCaption = "CPU time of each process for each entry, over all rounds. A broker is all of its processes " +
	"together. A database without a figure runs inside the process that stores."
