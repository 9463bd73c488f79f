package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/kind/messages"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/metric"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report/block"
)

// Main returns the metrics that a load is judged by, the primary one first.
func Main(l *claim.LoadAnalysis) []metric.Metric { return metrics(l, ShapeOf(l.Kind).main(l)) }

// Shown returns the main metrics for a table of one load: the primary one, and the others that have a valid figure.
func Shown(l *claim.LoadAnalysis) []metric.Metric {
	return slices.DeleteFunc(Main(l), func(m metric.Metric) bool {
		return m.ID != l.Primary && !worthShowing(m, *l.Row(m.ID))
	})
}

// Secondary returns the other metrics, which get a separate table. In the closed loop a call is due when it is made,
// so service times would repeat the response times.
func Secondary(l *claim.LoadAnalysis) []metric.Metric {
	var ids []string
	shown := Main(l)
	for _, row := range l.Rows {
		m, err := kinds.MetricOf(l, row.Metric)
		if err != nil || !l.Open && m.Service {
			continue
		}
		main := slices.ContainsFunc(shown, func(main metric.Metric) bool { return main.ID == m.ID })
		if !main && worthShowing(m, row) {
			ids = append(ids, m.ID)
		}
	}
	return metrics(l, ids)
}

// worthShowing reports whether a row has anything to show: a figure, or, for a count that should be 0, a figure that
// is not 0. [Notes] mentions the rows that are left out.
func worthShowing(m metric.Metric, row claim.Row) bool {
	return slices.ContainsFunc(row.Cells, func(c claim.Cell) bool {
		if one := c.Estimate.ShownRefused(); one != nil && (!m.Counted || one.Value > 0) {
			return true
		}
		return c.Estimate.Known && (!m.Counted || c.Estimate.Value > 0)
	})
}

// Empty reports whether nothing was measured under a load.
func Empty(l *claim.LoadAnalysis) bool {
	return !slices.ContainsFunc(l.Arms, func(a claim.ArmState) bool { return a.Rounds > 0 })
}

// nothing says that nothing was measured under a load, and gives the reason of the first arm that has one.
func nothing(l *claim.LoadAnalysis) string {
	for i := range l.Arms {
		if why := l.Arms[i].Invalid(); len(why) > 0 {
			return "nothing was measured: " + l.Arms[i].Name + ": " + trimmedStop(why[0])
		}
	}
	return "nothing was measured"
}

func metrics(l *claim.LoadAnalysis, ids []string) []metric.Metric {
	var found []metric.Metric
	for i, id := range ids {
		m, err := kinds.MetricOf(l, id)
		if err == nil && l.Row(id) != nil && !slices.Contains(ids[:i], id) {
			found = append(found, m)
		}
	}
	return found
}

// Fact is a line at the head of a report.
type Fact = block.Fact

// Facts returns what a reader must know about an experiment before its figures.
func Facts(r *result.Result, a *claim.Analysis) []Fact {
	var facts []Fact
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, Fact{Name: name, Text: text})
		}
	}
	add("question", question(r))
	add("machine", machine(r))
	add("database", Database(r))
	if asked := ShapeOf(r.Plan.Kind()).asked; asked != nil {
		facts = append(facts, asked(r)...)
	}
	add("network", Network(r))
	add("TLS", strings.Join(filled(secured(r), unchecked(r)), "; "))
	add("here", Resolves(r.Certificate))
	add("run", run(r, a))
	add("targets", lasting(r))
	add("baseline", standIn(r))
	add("checked", checked(a))
	add("compared", Compared(r))
	add("versions", strings.Join(DifferNotes(r), "; "))
	add("noise", noise(r))
	add("remade", gate.RemadeWords(r))
	add("resolves", resolution(a))
	add("result", strings.Join(filled(r.ID, day(r.Began)), ", "))
	return facts
}

// filled removes empty strings.
func filled(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 January 2006, 15:04 UTC")
}

func question(r *result.Result) string {
	work := r.Plan.Operation
	if r.Plan.Workload != "" {
		work += " of " + r.Plan.Workload
	}
	if r.Plan.Requests != "" {
		work += ", requests " + r.Plan.Requests
	}
	if r.Plan.About == "" {
		return work
	}
	return r.Plan.About + " (" + strings.TrimSpace(work) + ")"
}

func machine(r *result.Result) string {
	place := ""
	if p := r.Placement; r.Environment.CPUs > 0 || len(p.ServerCPUs) > 0 || len(p.DriverCPUs) > 0 {
		place = placed(r)
	}
	return strings.Join(filled(Machine(r.Environment), place), ", ")
}

// Machine describes a machine in one line.
func Machine(e result.Environment) string {
	size := ""
	if e.CPUs > 0 {
		size = fmt.Sprintf("%d CPUs", e.CPUs)
	}
	if e.MemoryBytes > 0 {
		size += fmt.Sprintf(", %.0f GiB", float64(e.MemoryBytes)/(1<<30))
	}
	virtual := ""
	if e.Virtual != "" {
		virtual = "virtual (" + e.Virtual + ")"
	}
	system := strings.TrimSpace(e.OS + " " + e.Kernel)
	return strings.Join(filled(e.CPU, size, virtual, system, e.Go), ", ")
}

func numbers(all []int) string {
	if len(all) == 0 {
		return "any"
	}
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(all)), "+"), "[]")
}

func run(r *result.Result, a *claim.Analysis) string {
	rounds := Rounds(a.Rounds)
	took := ""
	if d := r.Ended.Sub(r.Began); d > 0 && !r.Began.IsZero() {
		took = d.Round(100 * time.Millisecond).String()
	}
	ending := ""
	switch r.Ending {
	case "":
	case result.WidthReached:
		ending = "ended when the interval was within " + Margin(r.Plan.Until)
	case result.Interrupted:
		ending = "interrupted: only whole rounds count"
	default:
		ending = "ended: " + string(r.Ending)
	}
	return strings.Join(filled(rounds, "random order", fmt.Sprintf("seed %d", r.Plan.Seed), took, ending), ", ")
}

func checked(a *claim.Analysis) string {
	wrong := map[string]bool{}
	for _, l := range a.Loads {
		for _, arm := range l.Arms {
			for _, c := range arm.Checks {
				if c.Gate == result.Answers && !c.OK {
					wrong[arm.Name] = true
				}
			}
		}
	}
	shape := callShape()
	if len(a.Loads) > 0 {
		shape = ShapeOf(a.Loads[0].Kind)
	}
	if a.Requests > 0 && shape.Account != nil {
		return shape.Account(a)
	}
	text := phrases.Thousands(a.Requests) + " " + shape.Right
	told := ""
	if a.Told > 0 {
		told = "; " + phrases.Thousands(a.Told) + " more were counted by other load generators and not checked"
	}
	switch {
	case a.Requests == 0 && a.Told > 0:
		return "no reply was checked" + told
	case a.Requests == 0:
		return "no reply was measured"
	case len(wrong) > 0:
		return text + fmt.Sprintf("; %d of the arms had wrong or failed ones, see below", len(wrong)) + told
	}
	return text + ", none wrong" + told
}

// noise describes the other activity of the machine: the worst round for each figure.
func noise(r *result.Result) string {
	if len(r.Rounds) == 0 {
		return ""
	}
	n := result.Worst(r.Rounds)
	text := fmt.Sprintf("in the worst round the hypervisor took %.1f %% of the CPUs, other processes %.1f %%",
		100*n.Steal, 100*n.Others)
	if n.CPUPressure > 0 || n.IOPressure > 0 {
		text += fmt.Sprintf("; tasks, ours too, waited for a CPU %.0f %% of the time, for I/O %.0f %%",
			100*max(0, n.CPUPressure), 100*max(0, n.IOPressure))
	}
	if n.Throttled > 0 {
		text += "; our control group was held back for " + Duration(time.Duration(n.Throttled))
	}
	if often := preempted(r); often > 0 {
		text += "; drivers were preempted " + phrases.Thousands(uint64(often)) + " times a second"
	}
	return text
}

// preempted returns how many times per second a driver was preempted, in its worst trial.
func preempted(r *result.Result) float64 {
	most := 0.0
	for _, round := range r.Rounds {
		for _, t := range round.Trials {
			if t.Driver != nil && t.Driver.Wall > 0 {
				most = max(most, float64(t.Driver.Preemptions)/time.Duration(t.Driver.Wall).Seconds())
			}
		}
	}
	return min(most, 1e9) // a stored file may have any value
}

// resolution gives the smallest difference that a run could detect in its main metrics: the largest over loads and
// arms.
func resolution(a *claim.Analysis) string {
	var parts []string
	seen := map[string]float64{}
	var order []metric.Metric
	for i := range a.Loads {
		if InCurve(a, a.Loads[i].Load) {
			continue // overload varies widely, and does not show what the run resolves
		}
		for _, m := range Main(&a.Loads[i]) {
			for _, c := range a.Loads[i].Row(m.ID).Cells {
				if c.Difference == nil || c.Difference.Rounds < claim.MinRounds || c.Difference.Detectable == 0 {
					continue
				}
				if _, ok := seen[m.ID]; !ok {
					order = append(order, m)
				}
				seen[m.ID] = max(seen[m.ID], c.Difference.Detectable)
			}
		}
	}
	for _, m := range order {
		parts = append(parts, m.Short+" "+Percent(seen[m.ID]))
	}
	if len(parts) == 0 {
		return ""
	}
	return "differences of " + strings.Join(parts, ", ") + " (8 times in 10)"
}

// Arm describes an arm: its protocol and its libraries.
func Arm(r *result.Result, arm int) string {
	if arm >= len(r.Arms) {
		return ""
	}
	a, external := r.Arms[arm], len(r.Plan.External) > 0
	libraries, target := "", r.TargetOf(arm)
	switch {
	case external && target == "" && r.ServerOf(arm) == "": // the server was started from its description
		libraries = "client " + a.Client
	case target != "" && r.ServerOf(arm) == "":
		libraries = choose(a.Client != "", "client "+a.Client+", ", "") + "server unknown, at " + target +
			reached(target, a.Addresses)
	case a.Server != "" && r.ServerOf(arm) == a.Client:
		libraries = a.Client + " on both sides"
	case a.Server != "" || a.Client != "":
		libraries = "server " + r.ServerOf(arm) + ", client " + a.Client
	}
	secure := ""
	if a.Secure {
		secure = "TLS"
	}
	elsewhere := ""
	if target != "" && r.ServerOf(arm) != "" {
		elsewhere = "server at " + target + reached(target, a.Addresses)
	}
	style := ""
	if a.Style == "generic" && target == "" && !external {
		style = "generic"
	}
	encoding := a.Encoding
	if external {
		encoding = "" // the user's description has the encoding
	}
	return strings.Join(filled(a.Transport, secure, encoding, libraries, style, through(r, arm), a.Database, elsewhere,
		process(a)), ", ")
}

// Notes returns the notes on a load that its tables do not show: why arms are invalid, why main metrics are
// undecided, and other observations.
func Notes(l *claim.LoadAnalysis) []string {
	var notes []string
	notes = append(notes, grouped(l, spoiled)...)
	notes = append(notes, grouped(l, func(arm *claim.ArmState) []string {
		var lines []string
		for _, text := range arm.Notes {
			if text != messages.StateOf(arm).Early { // the mark says it already
				lines = append(lines, ": "+text)
			}
		}
		if f := arm.Floor; !f.Known && f.Why != "" {
			lines = append(lines, ": no floor: "+f.Why)
		}
		return lines
	})...)
	if Empty(l) {
		return notes
	}
	for i := range l.Rows {
		if m, err := kinds.MetricOf(l, l.Rows[i].Metric); err == nil && (l.Open || !m.Service) {
			notes = append(notes, rowNotes(l, m, &l.Rows[i])...)
		}
	}
	return notes
}

// rowNotes says why a metric has no figure, how many rounds an undecided main metric lacks, whether the primary
// metric had too few rounds, and that no connection was opened.
func rowNotes(l *claim.LoadAnalysis, m metric.Metric, row *claim.Row) []string {
	main := slices.ContainsFunc(Main(l), func(x metric.Metric) bool { return x.ID == m.ID })
	if m.Counted {
		if !worthShowing(m, *row) && m.ID == metric.Connections {
			return opened(l, row)
		}
		return nil
	}
	if !worthShowing(m, *row) {
		for a, c := range row.Cells {
			if arm := &l.Arms[a]; arm.Rounds > 0 && !gated(arm, m) {
				return []string{fmt.Sprintf("%s is not shown: %s %s", m.Short, arm.Name, c.Estimate.Why)}
			}
		}
		return nil
	}
	var who Groups[string, string]
	short := "" // arms with too few calls share a reason: only their numbers differ
	for a, c := range row.Cells {
		arm, d, why := &l.Arms[a], c.Difference, ""
		switch {
		case !c.Estimate.Known && arm.Rounds > 0 && !gated(arm, m) && !inside(arm, m):
			if why = "has no figure: " + c.Estimate.Why; m.Quantile > 0 {
				if short == "" {
					short = why
				}
				why = short
			}
		case d == nil || !main || arm.Rounds == 0:
		case d.Verdict == claim.TooFew && m.ID == l.Primary:
			why = "has too few rounds: " + d.Why
		case d.Verdict == claim.Inconclusive:
			why = fmt.Sprintf("is undecided: %s for %s; this run would have seen %s", MoreRounds(d.More),
				Margin(d.Margin), Percent(d.Detectable))
		}
		if why != "" {
			who.Add(why, arm.Name)
		}
	}
	return who.Each(func(why string, names []string) string { return m.Short + " of " + List(names) + " " + why })
}

// opened says whether connections were opened while measuring, if no arm has such a figure to show. There are two
// cases: none was opened, or a check refuses the figure.
func opened(l *claim.LoadAnalysis, row *claim.Row) []string {
	var some []string
	for a, c := range row.Cells {
		refused := c.Estimate.Refused
		switch {
		case l.Arms[a].Rounds == 0 || c.Estimate.Known:
		case refused == nil: // not known
			return nil
		case refused.Value > 0:
			some = append(some, l.Arms[a].Name)
		}
	}
	if len(some) > 0 {
		return []string{"connections were opened while measuring, by " + List(some)}
	}
	return []string{"no connection was opened while measuring"}
}

// inside reports whether an arm has no figure because its database runs inside the server. The notes on the arm say
// it once.
func inside(arm *claim.ArmState, m metric.Metric) bool {
	return arm.Database != nil && arm.Database.Within &&
		(m.ID == plan.DatabaseCPU || m.ID == plan.EventDatabaseCPU || m.ID == plan.PoolWait)
}

// gated reports whether a gate is the reason why an arm has no figure. The notes on the arm say it once.
func gated(arm *claim.ArmState, m metric.Metric) bool { return arm.Spoiled(m) != "" }

// Method says in one or two sentences how to read the figures.
func Method(r *result.Result) string {
	text := "Each arm is compared with " + r.ArmName(0) + " within every round, in random order. Intervals are 95 %"
	if r.Plan.Until > 0 {
		text += " (the primary metric's are built at 96 %, which pays for looking after every round)"
	}
	text += ". A difference is claimed when interval and sign-flip test agree, it is at least " +
		given(r.Plan.Practical) + ", and it remains after correction for all comparisons made."
	if len(r.Plan.Arms) < 2 {
		return "Intervals are 95 %."
	}
	return text
}
