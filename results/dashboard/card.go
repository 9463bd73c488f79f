package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wirelab/lab/result/claim"
	"wirelab/results/report"
	"wirelab/results/store"
)

// card is a running experiment as pages show it and as streams send it.
type card struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Work    string `json:"work"`
	Machine string `json:"machine"`
	Began   string `json:"began"`
	State   string `json:"state"` // "running", "silent"
	Phase   string `json:"phase"`
	Rounds  string `json:"rounds"`
	Elapsed string `json:"elapsed"`
	Left    string `json:"left"`
	Width   string `json:"width"`
	// Done is the progress in thousandths; negative if it is not known.
	Done int `json:"done"`
	// Gates summarises the checks. Failed lists those that fail.
	Gates  string   `json:"gates"`
	Failed []string `json:"failed"`
}

// cards is the list of running experiments.
type cards struct {
	Running []card `json:"running"`
}

func (d *Dashboard) describeRunning(now nowRunning) cards {
	all := cards{Running: []card{}}
	for _, r := range now.Running {
		all.Running = append(all.Running, cardOf(r))
	}
	return all
}

func cardOf(r store.Running) card {
	c := card{
		ID: r.ID, Title: r.Name, Work: r.Workload + "." + strings.Join(r.Operations, ", "), Machine: r.Host,
		Began: r.Began.UTC().Format("2 January 2006, 15:04 UTC"), State: "running", Phase: r.Phase,
		Elapsed: clock(time.Duration(r.Elapsed)), Done: -1, Failed: []string{},
	}
	if c.Title == "" {
		c.Title = c.Work
	}
	if r.Stale {
		c.State = "silent"
		c.Phase = "no news since " + r.Reported.UTC().Format("15:04:05 UTC") +
			": it may have been killed; last it was " + r.Phase
	}
	if r.Arm != "" {
		c.Phase += ": " + r.Arm
	}
	if r.Load != "" {
		c.Phase += ", " + r.Load
	}
	c.Rounds = fmt.Sprintf("round %d", r.Round)
	switch {
	case r.RoundsMax > 0 && r.RoundsMin < r.RoundsMax:
		c.Rounds += fmt.Sprintf(" of %d to %d", r.RoundsMin, r.RoundsMax)
	case r.RoundsMin > 0:
		c.Rounds += fmt.Sprintf(" of %d", r.RoundsMin)
	}
	if r.Steps > 0 {
		c.Rounds += fmt.Sprintf(", step %d of %d", min(r.Step+1, r.Steps), r.Steps)
	}
	if r.Left > 0 {
		c.Left = "about " + clock(time.Duration(r.Left)) + " left"
		c.Done = int(1000 * float64(r.Elapsed) / float64(r.Elapsed+r.Left))
	} else if r.RoundsMin > 0 && r.Round > 0 {
		step := 0.0
		if r.Steps > 0 {
			step = float64(r.Step) / float64(r.Steps)
		}
		c.Done = min(1000, int(1000*(float64(r.Round-1)+step)/float64(max(r.RoundsMin, r.Round))))
	}
	if r.Width > 0 {
		c.Width = "interval ±" + report.Percent(r.Width)
		if r.Goal > 0 {
			c.Width += ", to end at " + report.Margin(r.Goal)
		}
	}
	c.gates(r)
	return c
}

// gates reports the checks after the last complete round. It does not show the results so far: a user who looks at
// them and stops at will makes false claims in 3 of 10 cases.
func (c *card) gates(r store.Running) {
	if r.Standing == nil {
		c.Gates = "checks: after the first round"
		return
	}
	var a claim.Analysis
	if err := json.Unmarshal(r.Standing.Analysis, &a); err != nil {
		c.Gates = "checks: of another wirelab, not to be read here"
		return
	}
	held := 0
	for _, l := range a.Loads {
		for _, arm := range l.Arms {
			for _, check := range arm.Checks {
				if check.OK {
					held++
					continue
				}
				where := arm.Name
				if len(a.Loads) > 1 {
					where += ", " + l.Name
				}
				c.Failed = append(c.Failed, where+": "+string(check.Gate)+": "+check.Detail)
			}
		}
	}
	c.Gates = fmt.Sprintf("after %s: %s hold, %d failed", report.Plural(r.Standing.Round, "round"),
		report.Plural(held, "check"), len(c.Failed))
	if held == 1 {
		c.Gates = strings.Replace(c.Gates, "hold", "holds", 1)
	}
}

// clock writes a duration in the usual form: "3 min 20 s".
func clock(d time.Duration) string {
	switch s := int(d.Round(time.Second).Seconds()); {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	default:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	}
}
