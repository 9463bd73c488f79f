// Package outages describes runs with failing parts of the pipeline: their format in files, the checks of such files,
// and the words and tables that show them. It knows what package chaos takes and reports. It must not know how a part
// is made to fail.
package outages

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/chaos"
	"wirelab/lab/result"
	"wirelab/pipeline/stack"
	"wirelab/results/report"
)

// Run is one path with the faults of one run, as --json prints it.
type Run struct {
	Path   string `json:"path"`
	Faults string `json:"faults"`
	// Absent is why there is nothing to run. LeftOut are the faults that the path cannot have.
	Absent  string        `json:"absent,omitempty"`
	LeftOut []string      `json:"left_out,omitempty"`
	Failed  string        `json:"failed,omitempty"` // why the run did not complete
	Report  *chaos.Report `json:"report,omitempty"`
	// Guarantee says how the path delivers entries, and Machine where it ran: the conditions that "wirelab decide"
	// prints.
	Guarantee *result.Guarantee `json:"handover,omitempty"`
	Machine   string            `json:"machine,omitempty"`
	// Wirelab is the version that made the run.
	Wirelab string `json:"wirelab,omitempty"`

	Options chaos.Options `json:"-"`
	// Wanting reports whether the path was asked for by name and is not available.
	Wanting bool `json:"-"`
}

// Possible counts the runs that can run.
func Possible(runs []Run) (n int) {
	for _, r := range runs {
		if r.Absent == "" {
			n++
		}
	}
	return n
}

// NotRun is the reason given for a run that had not begun when the command was interrupted.
const NotRun = "interrupted before anything was measured"

// Agree makes the other runs of a path use the rate that the first run found sustainable. This makes faults
// comparable, and saves the time of more trials.
func Agree(others []Run, r *Run) {
	if r.Report == nil || r.Report.Interrupted {
		return
	}
	for i := range others {
		if others[i].Path == r.Path && others[i].Options.Rate == 0 {
			others[i].Options.Sustained = r.Report.Sustained
		}
	}
}

// Estimate says how long runs will take: "about 4m", or "4m to 6m".
func Estimate(runs []Run) string {
	var least, most time.Duration
	tried := map[string]bool{}
	for _, r := range runs {
		if r.Absent != "" {
			continue
		}
		o := r.Options
		if tried[r.Path] && o.Rate == 0 {
			o.Sustained = 1 // the first run of the path finds it
		}
		tried[r.Path] = true
		low, high := o.Estimate()
		least, most = least+low, most+high
	}
	grain := 10 * time.Second
	if most > 3*time.Minute {
		grain = time.Minute
	}
	low, high := least.Round(grain), most.Round(grain)
	if low == high {
		return "about " + inMinutes(high)
	}
	return inMinutes(low) + " to " + inMinutes(high)
}

// inMinutes writes a duration in the usual form: "2m", "50s", "1m30s".
func inMinutes(d time.Duration) string {
	return strings.TrimSuffix(d.String(), "m0s") + map[bool]string{true: "m"}[strings.HasSuffix(d.String(), "m0s")]
}

// FaultsText writes the faults of one run.
func FaultsText(faults []chaos.Fault) string {
	words := make([]string, len(faults))
	for i, f := range faults {
		words[i] = f.String()
	}
	return strings.Join(words, "+")
}

// Decode reads runs, and checks that they are complete and consistent.
func Decode(data []byte) ([]Run, error) {
	var runs []Run
	if err := json.Unmarshal(data, &runs); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a list of runs: %v", err)
	}
	if len(runs) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "no run is in it")
	}
	for i := range runs {
		if err := wholeChaos(&runs[i]); err != nil {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "run %d: %s", i+1, wirelab.Public(err).Message)
		}
	}
	return runs, nil
}

// wholeChaos returns an error if a run is incomplete or inconsistent.
func wholeChaos(r *Run) error {
	if r.Path == "" || r.Faults == "" {
		return wirelab.Errorf(wirelab.InvalidArgument, "it does not say of which path and faults it is")
	}
	if _, err := chaos.Parse(r.Faults); err != nil {
		return err
	}
	p := r.Report
	if p == nil {
		if r.Absent == "" && r.Failed == "" {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s, %s: there is no report, and no word on why", r.Path,
				r.Faults)
		}
		return nil
	}
	refused := uint64(0)
	for _, n := range p.Account.Refused {
		refused += n
	}
	c := &p.Account
	switch {
	case p.Path != r.Path:
		return wirelab.Errorf(wirelab.InvalidArgument, "a run of %s has a report of %s", r.Path, p.Path)
	case c.Accepted+refused != c.Sent || c.Stored+c.Missing != c.Accepted:
		return wirelab.Errorf(wirelab.InvalidArgument,
			"%s, %s: the account does not add up: %d sent, %d accepted, %d refused, %d stored, %d missing",
			r.Path, r.Faults, c.Sent, c.Accepted, refused, c.Stored, c.Missing)
	case p.Rate < 0 || p.Limit <= 0 || p.Load <= 0:
		return wirelab.Errorf(wirelab.InvalidArgument, "%s, %s: rate, limit or time are not above 0", r.Path, r.Faults)
	}
	for _, e := range p.Effects {
		if _, err := chaos.Parse(e.Fault); err != nil {
			return err
		}
		sum := 0
		for _, n := range e.Refused {
			sum += n
		}
		if sum > e.Due || e.Due < 0 || e.P99 < 0 || e.Max < e.P99 {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s, %s: what callers saw of %s does not add up", r.Path,
				r.Faults, e.Fault)
		}
	}
	return nil
}

// Of returns what a run showed of each of its faults.
func Of(r *Run) []report.Outage {
	faults, _ := chaos.Parse(r.Faults) // wholeChaos has found no error
	var all []report.Outage
	for _, f := range faults {
		o := report.Outage{
			Path: r.Path, Fault: f.String(), Among: len(faults), Guarantee: r.Guarantee,
			Machine: r.Machine,
		}
		if i := effectOf(r.Report, f.String()); i >= 0 {
			o = shown(o, r.Report, r.Report.Effects[i])
		} else {
			o.Why = cmp.Or(r.Absent, r.Failed, strings.Join(r.LeftOut, "; "), "the run was over before")
		}
		all = append(all, o)
	}
	return all
}

// effectOf returns the index of a fault's effect in a report; -1 if there is none.
func effectOf(p *chaos.Report, fault string) int {
	if p == nil {
		return -1
	}
	return slices.IndexFunc(p.Effects, func(e chaos.Effect) bool { return e.Fault == fault })
}

// shown fills in what a report says about a fault.
func shown(o report.Outage, p *chaos.Report, e chaos.Effect) report.Outage {
	recovery := func(r chaos.Recovery) report.Recovery {
		return report.Recovery{
			Already: r.Already, Left: r.Left, Back: r.Back, SinceBegin: time.Duration(r.SinceBegin),
			SinceEnd: time.Duration(r.SinceEnd),
		}
	}
	c := &p.Account
	o.Rate, o.Limit = p.Rate, time.Duration(p.Limit)
	o.Due, o.Refused, o.P99, o.Longest = e.Due, e.Refused, time.Duration(e.P99), time.Duration(e.Max)
	o.Answers, o.Storage = recovery(e.Response), recovery(e.Storage)
	o.Accepted, o.Missing, o.Doubled, o.Twice, o.Kept = c.Accepted, c.Missing, c.Duplicated, c.Twice, c.Kept
	o.AtLeast, o.Promised, o.Interrupted = c.AtLeast, p.Promised, p.Interrupted
	o.Database = p.About[stack.LoggerPart]
	for _, part := range slices.Sorted(maps.Keys(p.About)) {
		if slices.Contains(stack.Brokers(), part) {
			o.Broker = p.About[part]
		}
	}
	return o
}
