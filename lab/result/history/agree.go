package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/threshold"
)

// Holding is the result of a second experiment for a conclusion of the first.
type Holding string

// The holdings.
const (
	Holds        Holding = "holds"
	Contradicted Holding = "contradicted"
	NotDecided   Holding = "not decided here"
)

// Conclusion is a difference that one experiment claimed, with the result of another.
type Conclusion struct {
	Load    int    `json:"load"` // index into Plan.Loads
	Arm     int    `json:"arm"`  // index into Plan.Arms
	Metric  string `json:"metric"`
	Primary bool   `json:"primary,omitempty"`
	// Was is the claim, and Here is the same difference in the other experiment.
	Was     claim.Difference `json:"was"`
	Here    claim.Difference `json:"here"`
	Holding Holding          `json:"holding"`
	// Apart reports that the two intervals do not overlap. A conclusion that holds may have another size here.
	Apart bool `json:"apart,omitempty"`
	// Why says why it is contradicted or not decided.
	Why string `json:"why,omitempty"`
}

// Agreement has the results of one experiment for another's conclusions.
type Agreement struct {
	// Conclusions are all that were claimed and reported: those of primary metrics first, then the others in the
	// order of reports.
	Conclusions []Conclusion `json:"conclusions"`
	// Environment lists the recorded differences between the machines and builds; nil if there are none.
	Environment []Change `json:"environment,omitempty"`
}

// Change is a difference between two experiments.
type Change struct {
	What string `json:"what"`
	Was  string `json:"was"`
	Here string `json:"here"`
}

// Count returns how many conclusions, of primary metrics or of the others, have a result.
func (a *Agreement) Count(primary bool, how Holding) int {
	n := 0
	for _, c := range a.Conclusions {
		if c.Primary == primary && c.Holding == how {
			n++
		}
	}
	return n
}

// Agree decides for each conclusion of was, an experiment, whether it holds in here, another experiment with the same
// arms and loads. It is pure.
//
// A conclusion that an arm is better, or worse, holds if the same is claimed here. It is contradicted if the opposite
// is claimed, or if the arms are equivalent here and the intervals do not overlap. If the result here is too
// imprecise, that is no contradiction. A conclusion that arms are equivalent holds if the interval here is within the
// margin, and is contradicted if all of it is beyond.
func Agree(was, here *claim.Analysis, wasAt, hereAt result.Environment) Agreement {
	all := Agreement{Conclusions: []Conclusion{}, Environment: changes(wasAt, hereAt)}
	for l := range was.Loads {
		for _, row := range was.Loads[l].Rows {
			if m, err := kinds.MetricByID(row.Metric); err != nil || m.Service && !was.Loads[l].Open {
				continue // in the closed loop a call is due when it is made, so this is a repetition
			}
			for a, cell := range row.Cells {
				if cell.Difference == nil || !cell.Difference.Verdict.Claim() {
					continue
				}
				c := Conclusion{
					Load: was.Loads[l].Load, Arm: a, Metric: row.Metric, Primary: row.Primary,
					Was: *cell.Difference,
				}
				c.Here = differenceIn(here, l, row.Metric, a)
				c.hold()
				all.Conclusions = append(all.Conclusions, c)
			}
		}
	}
	slices.SortStableFunc(all.Conclusions, func(a, b Conclusion) int {
		switch {
		case a.Primary == b.Primary:
			return 0
		case a.Primary:
			return -1
		}
		return 1
	})
	return all
}

// differenceIn finds a difference; if it does not exist, it was not measured.
func differenceIn(a *claim.Analysis, load int, metric string, arm int) claim.Difference {
	if load < len(a.Loads) {
		if row := a.Loads[load].Row(metric); row != nil && arm < len(row.Cells) && row.Cells[arm].Difference != nil {
			return *row.Cells[arm].Difference
		}
	}
	return claim.Difference{Verdict: claim.Unmeasured, Why: "not measured here"}
}

// hold decides a conclusion.
func (c *Conclusion) hold() {
	w, h := &c.Was, &c.Here
	if !h.Known || h.Verdict == claim.TooFew || h.Verdict == claim.Invalid {
		c.Holding, c.Why = NotDecided, h.Why
		if c.Why == "" {
			c.Why = string(h.Verdict)
		}
		return
	}
	c.Apart = h.Low > w.High*(1+threshold.Slack) || h.High < w.Low*(1-threshold.Slack)
	if w.Verdict == claim.Equivalent {
		c.holdEquivalent()
		return
	}
	switch {
	case h.Verdict == w.Verdict:
		c.Holding = Holds
	case h.Verdict == claim.Better || h.Verdict == claim.Worse:
		c.Holding, c.Why = Contradicted, "the opposite is so here"
	case h.Verdict == claim.Equivalent && c.Apart:
		c.Holding, c.Why = Contradicted, "here they are equivalent, and no value is in both intervals"
	case h.Verdict == claim.Equivalent:
		c.Holding, c.Why = NotDecided, "here they are equivalent, but some values are in both intervals"
	default:
		c.Holding, c.Why = NotDecided, h.Why
	}
}

// holdEquivalent decides whether two arms are still equivalent, by the margin of the first experiment.
func (c *Conclusion) holdEquivalent() {
	h, margin := &c.Here, 1+c.Was.Margin
	switch inside := h.Low >= 1/margin*(1-threshold.Slack) && h.High <= margin*(1+threshold.Slack); {
	case inside, h.Verdict == claim.Equivalent && h.Margin <= c.Was.Margin:
		c.Holding = Holds
	case h.Low > margin*(1+threshold.Slack) || h.High < 1/margin*(1-threshold.Slack):
		c.Holding, c.Why = Contradicted, "all of the interval here is beyond the margin"
	default:
		c.Holding, c.Why = NotDecided, "the interval here reaches beyond the margin"
	}
}

// changes lists the differences between two environments that can explain a figure, without the time.
func changes(e result.Environment, here result.Environment) []Change {
	var all []Change
	add := func(what, was, is string) {
		if was != is {
			all = append(all, Change{what, cmp.Or(was, "none"), cmp.Or(is, "none")})
		}
	}
	add("host", e.Host, here.Host)
	add("CPU", e.CPU, here.CPU)
	add("CPUs", fmt.Sprint(e.CPUs), fmt.Sprint(here.CPUs))
	// To a tenth of a GiB, since the memory that a kernel reserves differs between boots.
	add("memory", gibibytes(e.MemoryBytes), gibibytes(here.MemoryBytes))
	add("system", strings.TrimSpace(e.OS+" "+e.Kernel), strings.TrimSpace(here.OS+" "+here.Kernel))
	add("virtual machine", e.Virtual, here.Virtual)
	add("governor", e.Governor, here.Governor)
	add("clock source", e.ClockSource, here.ClockSource)
	add("Go", e.Go, here.Go)
	add("wirelab", build(e), build(here))
	for _, two := range []struct {
		kind     string
		was, now map[string]string
	}{{"library ", e.Libraries, here.Libraries}, {"setting ", e.Settings, here.Settings}} {
		names := maps.Clone(two.was)
		if names == nil {
			names = map[string]string{}
		}
		maps.Copy(names, two.now)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			add(two.kind+name, two.was[name], two.now[name])
		}
	}
	return all
}

func gibibytes(n uint64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }

func build(e result.Environment) string {
	if e.Dirty {
		return e.Commit + " with changes"
	}
	return e.Commit
}
