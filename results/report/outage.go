package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/result"
	phrases "wirelab/lab/result/words"
)

// Outage is what one run of one path showed under one fault, or why it showed nothing. It is plain data, filled in by
// the code that made the run.
type Outage struct {
	// Path is the name of the way. Fault is the fault as the command takes it: "logger-down=10s".
	Path, Fault string
	// Among is the number of faults in the run. The account covers all of them.
	Among int
	// Why is why there are no figures: the path has no such part, or the run failed. It is "" if there are figures.
	Why string
	// Rate is the rate of entries per second outside of bursts. Limit is the time limit of the objective.
	Rate  float64
	Limit time.Duration
	// Due is how many entries were due until the next fault or the end. Refused counts those whose callers got an
	// error, by code. P99 and Longest are the times of the other answers.
	Due          int
	Refused      map[string]int
	P99, Longest time.Duration
	// Answers and Storage say how long the answers to callers and the storing of accepted entries were outside of the
	// objective.
	Answers, Storage Recovery
	// Accepted, Missing, Doubled and Kept are for the whole run: see [result.Followed]. With AtLeast, Doubled is a
	// lower bound. Promised reports whether accepted entries were promised to be kept.
	Accepted, Missing, Doubled, Twice, Kept uint64
	AtLeast, Promised, Interrupted          bool
	// The conditions: how entries were delivered, broker and database with their versions as far as the run recorded
	// them, and the machine.
	Guarantee                 *result.Guarantee
	Broker, Database, Machine string
}

// Recovery is how long something was outside of its objective after a fault.
type Recovery struct {
	Already, Left, Back  bool // already outside before the fault; outside at any time; and inside again
	SinceBegin, SinceEnd time.Duration
}

// Faults lists the faults of the table, as "wirelab chaos" takes them.
func Faults() []string {
	return []string{"listener-kill", "logger-down=10s", "broker-restart", "burst=10x5s"}
}

// FaultNeed describes a fault in plain words, for the column of needs. It returns an unknown fault unchanged.
func FaultNeed(fault string) string {
	kind, value, _ := strings.Cut(fault, "=")
	times, length, _ := strings.Cut(value, "x")
	switch kind {
	case "listener-kill":
		return "the listener is killed"
	case "broker-restart":
		return "the broker is killed and started again"
	case "logger-down":
		return "the logger is away for " + value
	case "burst":
		return fmt.Sprintf("a burst of %s times what can be sustained for %s", times, length)
	}
	return fault
}

// failures is the table for failing parts. Each row has single runs, so it lists them without ranking them.
func failures(r *result.Result, outages []Outage) DecisionTable {
	t := DecisionTable{
		Title: "if parts fail", Load: -1, Conditions: []Fact{}, Promises: []string{},
		Method: "Each is one run (n = 1): the ways are listed and not ranked, since another run may well differ. " +
			"Times count from when an entry was due; back is the time from which on every second meets the objective.",
	}
	faults := Faults()
	for _, o := range outages {
		if !slices.Contains(faults, o.Fault) {
			// The same fault with another duration replaces the usual one.
			kind, _, _ := strings.Cut(o.Fault, "=")
			usual := slices.IndexFunc(faults,
				func(f string) bool { k, _, _ := strings.Cut(f, "="); return k == kind && !hasFault(outages, f) })
			if usual >= 0 {
				faults[usual] = o.Fault
			} else {
				faults = append(faults, o.Fault)
			}
		}
	}
	for _, fault := range faults {
		t.Rows = append(t.Rows, failure(r, fault, outages))
	}
	return t
}

func hasFault(outages []Outage, fault string) bool {
	return slices.ContainsFunc(outages, func(o Outage) bool { return o.Fault == fault })
}

// failure returns the row of one fault.
func failure(r *result.Result, fault string, outages []Outage) Decision {
	d := Decision{Need: FaultNeed(fault), Metric: fault, State: "one run", First: []Way{}}
	used := map[int]bool{}
	var missing []int
	var held []string
	for arm := range r.Arms {
		runs := outagesOf(r, arm, fault, outages)
		for _, i := range runs {
			used[i] = true
		}
		switch {
		case spared(r, arm, fault) != "" && len(runs) == 0:
			d.Refused = append(d.Refused, Way{Name: r.ArmName(arm), Early: !r.Durable(arm), Why: spared(r, arm, fault)})
		case len(runs) == 0:
			missing = append(missing, arm)
		}
		for _, i := range runs {
			d.tell(r, arm, &outages[i])
			held = append(held, outageHolds(&outages[i])...)
		}
	}
	for _, w := range absentWays(r) {
		if !slices.ContainsFunc(outages, func(o Outage) bool { return o.Fault == fault && o.Path == w.Name }) {
			d.Refused = append(d.Refused, w) // a run on another machine may have had it
		}
	}
	for i := range outages {
		if o := &outages[i]; o.Fault == fault && !used[i] {
			d.tell(r, -1, o)
			held = append(held, outageHolds(o)...)
		}
	}
	if len(held) > 0 {
		slices.Sort(held)
		d.Holds = strings.Join(append(slices.Compact(held), "1 run of each"), "; ")
	}
	for _, arm := range missing {
		if len(d.First) > 0 {
			d.Refused = append(d.Refused, Way{Name: r.ArmName(arm), Early: !r.Durable(arm), Why: "not measured"})
		}
	}
	commands := measure(r, missing, fault)
	switch {
	case len(d.First) == 0:
		d.State, d.Lead = "not measured", "not measured"
		if len(missing) == 0 {
			break // no way can have this fault
		}
		d.Lead += "; this measures it: " + strings.Join(commands, ", and ")
	default:
		d.Lead = "one run each, not ranked"
		if len(commands) > 0 {
			d.Notes = append(d.Notes, "this measures the others: "+strings.Join(commands, ", and "))
		}
	}
	d.Says = sentences(d)
	return d
}

// tell adds the result of an outage. arm is -1 if the outage belongs to none of the arms.
func (d *Decision) tell(r *result.Result, arm int, o *Outage) {
	w := Way{Name: o.Path, Early: !o.durable()}
	if o.Why != "" && arm >= 0 {
		w.Early = !r.Durable(arm)
	}
	if arm >= 0 {
		w.Name = r.ArmName(arm)
		if was := r.Arms[arm].Database; o.Database != "" && o.Why == "" && was != o.Database {
			d.Notes = append(d.Notes,
				fmt.Sprintf("%s was run with %s, and measured above with %s", w.Name, o.Database,
					cmp.Or(was, "the logger's memory")))
		}
		if was := r.Arms[arm].Broker; o.Broker != "" && was != "" && was != o.Broker {
			d.Notes = append(d.Notes,
				fmt.Sprintf("%s was run with %s, and measured above with %s", w.Name, o.Broker, was))
		}
	} else {
		d.Notes = append(d.Notes, w.Label()+" is none of the arms above")
	}
	if o.Why != "" {
		w.Why = o.Why
		d.Refused = append(d.Refused, w)
		return
	}
	w.Saw, w.Back, w.Lost = o.saw(), o.back(), o.lost()
	w.Figure = strings.Join([]string{w.Saw, w.Back, w.Lost}, "; ")
	d.First = append(d.First, w)
}

// durable is [result.Result.Durable] for an outage.
func (o *Outage) durable() bool {
	return o.Guarantee != nil &&
		(o.Guarantee.Broker == "" && o.Database != "" && o.Database != "memory" ||
			o.Guarantee.Confirms && o.Guarantee.OnDisk())
}

// outagesOf returns the outages of an arm under a fault. If both record how entries are delivered, the records must
// agree.
func outagesOf(r *result.Result, arm int, fault string, outages []Outage) []int {
	var found []int
	for i := range outages {
		o, ours := &outages[i], r.Arms[arm].Guarantee
		if o.Path == r.Arms[arm].Protocol && o.Fault == fault &&
			(ours == nil || o.Guarantee == nil || *ours == *o.Guarantee) {
			found = append(found, i)
		}
	}
	return found
}

// pathPrefix begins the names of paths through the pipeline. Other arms are servers that are called directly.
const pathPrefix = "log-"

// spared says why an arm has nothing that a fault of "wirelab chaos" could stop; "" if it has. The suggested command
// leaves such an arm out, since a command that names no other arm would be refused.
func spared(r *result.Result, arm int, fault string) string {
	h := r.Arms[arm].Guarantee
	switch ends := fault == "broker-restart" || fault == "listener-kill"; {
	case !strings.HasPrefix(r.Arms[arm].Protocol, pathPrefix):
		return "is called directly, without a pipeline whose parts could fail"
	case !ends:
		return ""
	case h == nil && r.Arms[arm].Broker == "":
		return "may have a broker: that was not recorded"
	case h != nil && h.Broker == "":
		return "has no broker that could be stopped"
	case h != nil && fault == "broker-restart" && h.Sync == result.SyncUnknown:
		return "has a broker that runs elsewhere, which wirelab does not kill"
	}
	return ""
}

// measure returns the commands that would measure arms under a fault, one for each use of a queue and each database.
func measure(r *result.Result, arms []int, fault string) []string {
	paths := map[string][]string{}
	var order []string
	for _, arm := range arms {
		flags := "--fault " + fault
		if h := r.Arms[arm].Guarantee; h != nil && h.Broker != "" {
			if h.Queue == "classic" {
				flags += " --queue classic"
			}
			if !h.Confirms {
				flags += " --no-confirms"
			}
			if !h.Persistent {
				flags += " --transient"
			}
		}
		if arm < len(r.Plan.Arms) {
			if a := r.Plan.Arms[arm]; a.Target == "" { // for a server that runs elsewhere this is not known
				flags += " --db " + cmp.Or(r.Plan.DatabaseOf(a), wirelab.Memory)
			}
		}
		if paths[flags] == nil {
			order = append(order, flags)
		}
		if p := r.Arms[arm].Protocol; !slices.Contains(paths[flags], p) {
			paths[flags] = append(paths[flags], p)
		}
	}
	for i, flags := range order {
		kind, _, _ := strings.Cut(fault, "=")
		file := kind
		if i > 0 {
			file += fmt.Sprintf("-%d", i+1)
		}
		order[i] = "wirelab chaos logging " + strings.Join(paths[flags], " ") + " " + flags + " --json > " + file +
			".json"
	}
	return order
}

// saw says what callers saw.
func (o *Outage) saw() string {
	refused := 0
	var codes []string
	for _, code := range slices.Sorted(maps.Keys(o.Refused)) {
		refused += o.Refused[code]
		codes = append(codes, fmt.Sprintf("%s %s", phrases.Thousands(uint64(max(0, o.Refused[code]))), code))
	}
	text := fmt.Sprintf("at %s callers saw %s of %s refused", rate(o.Rate), phrases.Thousands(uint64(max(0, refused))),
		phrases.Thousands(uint64(max(0, o.Due))))
	if len(codes) > 0 {
		text += " (" + strings.Join(codes, ", ") + ")"
	}
	return text + fmt.Sprintf(", answers within %s for 99 of 100, the longest %s", Duration(o.P99), Duration(o.Longest))
}

// back says how long it took until everything met the objective again.
func (o *Outage) back() string {
	return fmt.Sprintf("answers in %s: %s; stored in it: %s", Duration(o.Limit), o.Answers.text(), o.Storage.text())
}

func (v Recovery) text() string {
	text := fmt.Sprintf("again %s after it began, %s after its end", Duration(v.SinceBegin), Duration(v.SinceEnd))
	switch {
	case !v.Left:
		text = "always"
	case !v.Back:
		text = "not again within the observed time"
	case v.SinceEnd == 0:
		text = fmt.Sprintf("again %s after it began, before its end", Duration(v.SinceBegin))
	}
	if v.Already {
		text += " (it was outside before)"
	}
	return text
}

// lost says what happened to accepted entries, over the whole run.
func (o *Outage) lost() string {
	text := fmt.Sprintf("%s of %s accepted lost", phrases.Thousands(o.Missing), phrases.Thousands(o.Accepted))
	switch {
	case o.Missing > 0 && o.Promised:
		text += ", though they were promised"
	case o.Missing > 0:
		text += ", which were not promised to be kept"
	}
	least := ""
	if o.AtLeast {
		least = "at least "
	}
	text += fmt.Sprintf(", %s%s delivered again", least, phrases.Thousands(o.Doubled))
	if o.Twice > 0 {
		text += fmt.Sprintf(", %s stored twice", phrases.Thousands(o.Twice))
	}
	if o.Kept > 0 {
		text += fmt.Sprintf(", %s stored though refused", phrases.Thousands(o.Kept))
	}
	if o.Among > 1 {
		text += fmt.Sprintf(" (of the whole run with its %d faults)", o.Among)
	}
	if o.Interrupted {
		text += "; the run was interrupted"
	}
	return text
}

// outageHolds returns the conditions of an outage.
func outageHolds(o *Outage) []string {
	if o.Why != "" {
		return nil
	}
	broker := o.Broker
	if words := QueueWords(o.Guarantee); words != "" {
		broker = cmp.Or(o.Broker, o.Guarantee.Broker) + ", " + words
	}
	return filled(o.Database, broker, o.Machine)
}
