package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/grid"
	"wirelab/lab/stat"
)

// CrossRun is the comparison of two experiments. The figures of one arm in both are not compared. A machine drifts
// between runs, and a test of two runs that were not interleaved calls equal arms different in 3 of 10 cases
// (docs/concepts/claims.md). What can be compared is each arm's ratio to the first arm, which ran with it in both.
type CrossRun struct {
	// Machine and Plan list what differs between the machines and between the plans. If there is any such difference,
	// there is no verdict. Builds are the versions and settings that differ, which may be the reason for different
	// figures.
	Machine []Change `json:"machine"`
	Plan    []Change `json:"plan"`
	Builds  []Change `json:"builds"`
	// Comparable reports whether there are verdicts; Why says why not.
	Comparable bool         `json:"comparable"`
	Why        string       `json:"why,omitempty"`
	Loads      []SharedLoad `json:"loads"` // those that both have
}

// SharedLoad is a load that both experiments have.
type SharedLoad struct {
	Was  int         `json:"was"`  // index into the first's Plan.Loads
	Here int         `json:"here"` // and into the second's
	Arms []SharedArm `json:"arms"` // those that both have
}

// SharedArm is an arm that both experiments have, under a load.
type SharedArm struct {
	Was  int         `json:"was"`
	Here int         `json:"here"`
	Rows []SharedRow `json:"rows"`
}

// SharedRow is one metric of an arm in both.
type SharedRow struct {
	Metric  string         `json:"metric"`
	Primary bool           `json:"primary,omitempty"`
	Was     claim.Estimate `json:"was"`
	Here    claim.Estimate `json:"here"`
	// Shift is how the arm's ratio to the first arm changed: the second's divided by the first's. It is nil without a
	// verdict: for the first arm, for counts, and if the two are not [CrossRun.Comparable].
	Shift *claim.Difference `json:"shift,omitempty"`
}

// Compare compares two experiments. It is pure; the analyses must be those of the results.
func Compare(was, here *result.Result, wasSaid, hereSaid *claim.Analysis) CrossRun {
	s := CrossRun{Plan: Questions(was.Plan, here.Plan), Loads: []SharedLoad{}}
	s.Machine, s.Builds = Moved(was, here)
	loads := pairUp(len(wasSaid.Loads), len(hereSaid.Loads), func(a, b int) bool {
		return loadText(was.Plan, wasSaid.Loads[a].Load) == loadText(here.Plan, hereSaid.Loads[b].Load)
	})
	arms := pairUp(len(was.Plan.Arms), len(here.Plan.Arms), func(a, b int) bool {
		return sameArm(was.Plan, was.Plan.Arms[a], here.Plan, here.Plan.Arms[b])
	})
	switch {
	case len(s.Machine) > 0:
		s.Why = "different machines: " + differing(s.Machine)
	case len(s.Plan) > 0:
		s.Why = "different questions: " + differing(s.Plan)
	case len(loads) == 0:
		s.Why = "no load in common"
	case len(arms) == 0:
		s.Why = "no arm in common"
	case arms[0] != [2]int{0, 0}:
		s.Why = "the first arms differ, and every difference is from the first: " + was.ArmName(0) + " and " +
			here.ArmName(0)
	case len(arms) == 1:
		s.Why = "one arm in common, and no second one in both: a drift between the two runs cannot be distinguished from a " +
			"change; see its history"
	default:
		s.Comparable = true
	}
	for _, l := range loads {
		s.Loads = append(s.Loads, s.share(was.Plan, &wasSaid.Loads[l[0]], &hereSaid.Loads[l[1]], arms))
	}
	return s
}

// Moved lists the differences between the machines of two results, and between their builds: versions, libraries and
// settings.
func Moved(was, here *result.Result) (machine, builds []Change) {
	machine, builds = []Change{}, []Change{}
	for _, c := range changes(was.Environment, here.Environment) {
		if c.Build() {
			builds = append(builds, c)
		} else {
			machine = append(machine, c)
		}
	}
	place := func(p result.Placement) string { return fmt.Sprint(p.ServerCPUs, p.DriverCPUs, p.RelayCPUs) }
	if a, b := place(was.Placement), place(here.Placement); a != b {
		machine = append(machine, Change{"CPUs of server, driver and relays", a, b})
	}
	return machine, builds
}

// Build reports whether a change is one of the build or its settings, and not of the machine.
func (c Change) Build() bool {
	return c.What == "Go" || c.What == "wirelab" || strings.HasPrefix(c.What, "library ") || c.Setting()
}

// Setting reports whether a change is one of a setting of the runtime, such as GOGC.
func (c Change) Setting() bool { return strings.HasPrefix(c.What, "setting ") }

func differing(all []Change) string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.What + " (" + c.Was + ", " + c.Here + ")"
	}
	return strings.Join(names, ", ")
}

// unasked are the fields of a plan that change how long or how precisely is measured, but not the question. Arms, loads
// and their data are compared one by one.
func unasked() []string {
	return []string{
		"name", "about", "arms", "loads", "operation", "requests", "data", "rounds", "until", "for", "seed",
		"published",
		"explain", "primary", "practical", "equivalent", "slices", "floor",
	}
}

// Questions lists the fields in which two plans ask different questions. A field that is missing from unasked counts as
// one: no verdict is better than a wrong one.
func Questions(was, here plan.Plan) []Change {
	a, b := fields(was), fields(here)
	all := []Change{}
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Contains(unasked(), name) && a[name] != b[name] {
			all = append(all, Change{
				strings.ReplaceAll(name, "_", " "), cmp.Or(a[name], "none"),
				cmp.Or(b[name], "none"),
			})
		}
	}
	return all
}

func fields(p plan.Plan) map[string]string {
	text, err := json.Marshal(p)
	raw := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(text, &raw)
	}
	all := map[string]string{}
	for name, value := range raw {
		all[name] = strings.Trim(string(value), `"`)
	}
	if err != nil { // a number that no JSON holds, from a file made up
		all["plan"] = err.Error()
	}
	return all
}

// pairUp finds for each of n elements the first equal one of m.
func pairUp(n, m int, same func(a, b int) bool) [][2]int {
	var pairs [][2]int
	for a := range n {
		for b := range m {
			if same(a, b) {
				pairs = append(pairs, [2]int{a, b})
				break
			}
		}
	}
	return pairs
}

func sameArm(p plan.Plan, a plan.Arm, q plan.Plan, b plan.Arm) bool {
	a.Data, b.Data = p.DataOf(a), q.DataOf(b)
	a.Name, b.Name = "", ""
	return a == b
}

// loadText describes a load completely, with values that come from the plan.
func loadText(p plan.Plan, load int) string {
	l := p.Loads[load]
	l.Operation, l.Requests = p.OperationOf(l), p.RequestsOf(l)
	text, _ := json.Marshal(l) // what JSON cannot hold is a load like no other
	return string(text)
}

// share compares one load of both.
func (s *CrossRun) share(p plan.Plan, was, here *claim.LoadAnalysis, arms [][2]int) SharedLoad {
	shared := SharedLoad{Was: was.Load, Here: here.Load, Arms: []SharedArm{}}
	var primary, secondary []effect.Judged
	for _, pair := range arms {
		arm := SharedArm{Was: pair[0], Here: pair[1], Rows: []SharedRow{}}
		for _, row := range was.Rows {
			other := here.Row(row.Metric)
			m, err := kinds.MetricByID(row.Metric)
			if err != nil || other == nil || pair[0] >= len(row.Cells) || pair[1] >= len(other.Cells) {
				continue
			}
			one := SharedRow{
				Metric: row.Metric, Primary: row.Primary, Was: row.Cells[pair[0]].Estimate,
				Here: other.Cells[pair[1]].Estimate,
			}
			if a, b := row.Cells[pair[0]].Difference, other.Cells[pair[1]].Difference; s.Comparable && a != nil &&
				b != nil {
				one.Shift = shift(a, b, row.Alpha)
				if one.Shift.Known && row.Primary {
					primary = append(primary, effect.Judged{Difference: one.Shift, Rule: effect.Rule(p, m)})
				} else if one.Shift.Known {
					secondary = append(secondary, effect.Judged{Difference: one.Shift, Rule: effect.Rule(p, m)})
				}
			}
			arm.Rows = append(arm.Rows, one)
		}
		shared.Arms = append(shared.Arms, arm)
	}
	effect.Adjust(primary, stat.Holm, len(primary))
	effect.Adjust(secondary, stat.BenjaminiHochberg, 1)
	return shared
}

// shift is how a difference from the first arm changed. It is not judged yet.
func shift(was, here *claim.Difference, alpha float64) *claim.Difference {
	for _, d := range [...]*claim.Difference{was, here} {
		if !d.Known || d.Verdict == claim.TooFew {
			return &claim.Difference{Verdict: d.Verdict, Rounds: d.Rounds, Why: d.Why}
		}
	}
	e, err := stat.Shift(was.Effect, here.Effect, alpha)
	if err != nil {
		return &claim.Difference{Verdict: claim.Unmeasured, Why: "the rounds differ beyond all bounds"}
	}
	return &claim.Difference{
		Known: true, Ratio: e.Ratio, Low: e.Low, High: e.High, Exact: e.Exact, P: e.JointP(),
		Rounds: min(was.Rounds, here.Rounds), Effect: e,
	}
}

// Estimates returns the figures of every arm under every load with their gates, but without comparisons, which a
// history does not need. Metrics without a figure of any arm are left out. A capacity search has none.
func Estimates(r *result.Result) []claim.LoadAnalysis {
	g := grid.NewGrid(r)
	all := []claim.LoadAnalysis{}
	if r.Capacity != nil {
		return all
	}
	for l := range g.Trials {
		load := r.Plan.Loads[l]
		found := claim.LoadAnalysis{
			Load: l, Name: load.String(), Kind: load.Kind(), Open: load.Open(),
			Streams: load.Streams, Slow: load.Slow(), Primary: kinds.Primary(r.Plan, load).ID, Arms: []claim.ArmState{},
			Rows: []claim.Row{},
		}
		for a := range g.Arms() {
			found.Arms = append(found.Arms, kinds.StateOf(g, l, a))
		}
		for _, m := range kinds.Known() {
			if !kinds.Under(m, load) {
				continue
			}
			row := claim.Row{
				Metric: m.ID, Primary: m.ID == found.Primary,
				Alpha: effect.Alpha(r.Plan, m.ID == found.Primary), Cells: []claim.Cell{},
			}
			for a := range found.Arms {
				row.Cells = append(row.Cells, claim.Cell{Estimate: effect.Measure(g, &found, m, a, row.Alpha)})
			}
			if slices.ContainsFunc(row.Cells, func(c claim.Cell) bool { return c.Estimate.Known }) {
				found.Rows = append(found.Rows, row)
			}
		}
		all = append(all, found)
	}
	return all
}
