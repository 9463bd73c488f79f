package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Published is a figure from another source. It is shown, but never used in a computation.
type Published struct {
	Source  string `json:"source" yaml:"source"`
	Machine string `json:"machine" yaml:"machine"`
	// Software is what was measured: libraries, language and versions.
	Software string `json:"software,omitempty" yaml:"software,omitempty"`
	// Row is the source's name for it, if that differs from the arm's.
	Row string `json:"row,omitempty" yaml:"row,omitempty"`
	// Arm is the arm next to which the figure is shown. Missing is given instead of Arm: it says why no arm here
	// corresponds to the figure.
	Arm     string `json:"arm,omitempty" yaml:"arm,omitempty"`
	Missing string `json:"missing,omitempty" yaml:"missing,omitempty"`
	// Operation is the operation that the figure is for. Empty: that of the first load.
	Operation string `json:"operation,omitempty" yaml:"operation,omitempty"`
	// Load is the number of the load that the figure is for, from 1. 0: the first one with the operation.
	Load int `json:"load,omitempty" yaml:"load,omitempty"`
	// Exactly one of the first four is given. Mean and P99 are response times. Rate is calls or events per second in
	// all. GapP99 is for the times between the events of a stream. PlusMinus is the half-width that was published
	// with Rate. Min and Max are the shortest and the longest time that were published with Mean.
	Mean      Duration `json:"mean,omitempty" yaml:"mean,omitempty"`
	Rate      float64  `json:"rate,omitempty" yaml:"rate,omitempty"`
	P99       Duration `json:"p99,omitempty" yaml:"p99,omitempty"`
	GapP99    Duration `json:"gap_p99,omitempty" yaml:"gap_p99,omitempty"`
	PlusMinus float64  `json:"plus_minus,omitempty" yaml:"plus_minus,omitempty"`
	Min       Duration `json:"min,omitempty" yaml:"min,omitempty"`
	Max       Duration `json:"max,omitempty" yaml:"max,omitempty"`
	// Flaws are the ids of that measurement's flaws. Whether the arm here has them too is decided from the
	// measurements, not by the plan.
	Flaws []string `json:"flaws,omitempty" yaml:"flaws,omitempty"`
}

// Contrast is two arms, of which one has flaws of a published measurement and the other does not. The difference
// between them is the effect of the flaws.
type Contrast struct {
	Flaws   []string `json:"flaws" yaml:"flaws"`
	With    string   `json:"with" yaml:"with"`
	Without string   `json:"without" yaml:"without"`
}

// Advice is a recommendation that was published for a use.
type Advice struct {
	// Use is when the recommendation applies, and Says is the recommendation. Both are as published.
	Use  string `json:"use" yaml:"use"`
	Says string `json:"says" yaml:"says"`
	// Arm is recommended rather than Over. With Either, both are recommended equally.
	Arm    string `json:"arm,omitempty" yaml:"arm,omitempty"`
	Over   string `json:"over,omitempty" yaml:"over,omitempty"`
	Either bool   `json:"either,omitempty" yaml:"either,omitempty"`
	// Load is the number of the load that resembles the use, from 1. 0: the first.
	Load int `json:"load,omitempty" yaml:"load,omitempty"`
	// Metric is the metric by which Arm should be better. Empty: the load's primary one.
	Metric string `json:"metric,omitempty" yaml:"metric,omitempty"`
	// Missing is given instead of arms: it says why no measurement can check the recommendation.
	Missing string `json:"missing,omitempty" yaml:"missing,omitempty"`
}

// quantities is how many of the four quantities a published figure has.
func (f Published) quantities() (n int) {
	for _, given := range []bool{f.Mean != 0, f.Rate != 0, f.P99 != 0, f.GapP99 != 0} {
		if given {
			n++
		}
	}
	return n
}

func (p Plan) checkPublished() error {
	for i, f := range p.Published {
		field := fmt.Sprintf("published[%d]", i)
		if err := first(f.checkWhole(field), f.checkFields(field), checkFlaws(field, f.Flaws)); err != nil {
			return err
		}
	}
	return nil
}

// checkWhole checks which fields of a figure are given together.
func (f Published) checkWhole(field string) error {
	switch {
	case f.Source == "":
		return missing(field+".source", "a link or a title")
	case f.Machine == "":
		return missing(field+".machine", "darwin/arm64")
	case f.Arm == "" && f.Missing == "":
		return missing(field+".arm", "the name of an arm, or the field missing, which says why there is none")
	case f.Arm != "" && f.Missing != "":
		return bad(field+".missing", f.Missing, "left out where arm is")
	case f.Missing != "" && f.Row == "":
		return missing(field+".row", "the source's name for it")
	case f.quantities() == 0:
		return missing(field+".mean", "49.005us, or a rate, p99 or gap_p99")
	case f.quantities() > 1:
		return outside(field, fmt.Sprintf("%d quantities", f.quantities()),
			"one of mean, rate, p99 and gap_p99: write a separate figure for each")
	case f.Rate == 0 && f.PlusMinus != 0:
		return bad(field+".plus_minus", f.PlusMinus, "left out where rate is")
	case f.Mean == 0 && (f.Min != 0 || f.Max != 0):
		return bad(field+".min", f.Min, "left out, and max too, where mean is")
	case f.Mean != 0 && (f.Min > f.Mean || f.Max != 0 && f.Max < f.Mean):
		return bad(field+".mean", f.Mean, "between min and max")
	}
	return nil
}

// checkFields checks each field of a figure by itself.
func (f Published) checkFields(field string) error {
	return first(
		readable(field+".source", f.Source, aboutMax),
		readable(field+".machine", f.Machine, textMax),
		readable(field+".software", f.Software, softwareMax),
		readable(field+".row", f.Row, textMax),
		readable(field+".arm", f.Arm, armNameMax),
		readable(field+".missing", joined(f.Missing), aboutMax),
		inForm(field+".operation", f.Operation, callName, "GetFeature"),
		inRange(field+".load", f.Load, 1, loadsMax),
		inRange(field+".mean", f.Mean, meanMin, meanMax),
		inRange(field+".p99", f.P99, meanMin, meanMax),
		inRange(field+".gap_p99", f.GapP99, meanMin, meanMax),
		inRange(field+".min", f.Min, meanMin, meanMax),
		inRange(field+".max", f.Max, meanMin, meanMax),
		inRange(field+".rate", f.Rate, rateMin, rateMax),
		inRange(field+".plus_minus", f.PlusMinus, 0, rateMax),
	)
}

func checkFlaws(field string, ids []string) error {
	if len(ids) > flawsMax {
		return tooMany(field+".flaws", len(ids), "flaws", flawsMax)
	}
	for j, flaw := range ids {
		if !flawID.MatchString(flaw) {
			return bad(fmt.Sprintf("%s.flaws[%d]", field, j), flaw, "an id like duh-M01")
		}
	}
	return nil
}

func (p Plan) checkNotes() error {
	if len(p.Notes) > notesMax {
		return tooMany("notes", len(p.Notes), "notes", notesMax)
	}
	for i, note := range p.Notes {
		field := fmt.Sprintf("notes[%d]", i)
		if joined(note) == "" {
			return missing(field, "a sentence")
		}
		if err := readable(field, joined(note), aboutMax); err != nil {
			return err
		}
	}
	return nil
}

func (p Plan) checkContrasts() error {
	if len(p.Contrasts) > contrastsMax {
		return tooMany("contrasts", len(p.Contrasts), "contrasts", contrastsMax)
	}
	for i, c := range p.Contrasts {
		field := fmt.Sprintf("contrasts[%d]", i)
		switch {
		case len(c.Flaws) == 0:
			return missing(field+".flaws", "duh-M01")
		case c.With == "":
			return missing(field+".with", "the name of an arm")
		case c.Without == "":
			return missing(field+".without", "the name of an arm")
		case c.With == c.Without:
			return bad(field+".without", c.Without, "another arm than with")
		}
		err := first(
			checkFlaws(field, c.Flaws),
			readable(field+".with", c.With, armNameMax),
			readable(field+".without", c.Without, armNameMax),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func (p Plan) checkAdvice() error {
	if len(p.Advice) > adviceMax {
		return tooMany("advice", len(p.Advice), "recommendations", adviceMax)
	}
	for i, a := range p.Advice {
		field := fmt.Sprintf("advice[%d]", i)
		measured := a.Arm != "" || a.Over != ""
		switch {
		case a.Use == "":
			return missing(field+".use", "when it applies")
		case a.Says == "":
			return missing(field+".says", "what is recommended")
		case measured == (a.Missing != ""):
			return outside(field, choose(measured, "with arms and missing", "without arms and missing"),
				"with arm and over, or with missing, which says why no measurement can check it")
		case measured && (a.Arm == "" || a.Over == "" || a.Arm == a.Over):
			return outside(field, "with one arm", "with arm and over, which must differ")
		}
		err := first(
			readable(field+".use", a.Use, textMax), readable(field+".says", a.Says, softwareMax),
			readable(field+".arm", a.Arm, armNameMax), readable(field+".over", a.Over, armNameMax),
			readable(field+".missing", joined(a.Missing), aboutMax),
			inRange(field+".load", a.Load, 1, loadsMax), knownMetric(field+".metric", a.Metric),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkPublishedOf checks that the published figures, contrasts and advice of a complete plan refer to its arms and
// loads.
func (p Plan) checkPublishedOf() error {
	arm := func(field, name string) error {
		if name == "" || slices.ContainsFunc(p.Arms, func(a Arm) bool { return a.Name == name }) {
			return nil
		}
		return bad(field, name, "the name of an arm")
	}
	load := func(field string, n int) error {
		if n <= len(p.Loads) {
			return nil
		}
		return bad(field, n, fmt.Sprintf("at most the number of loads, %d", len(p.Loads)))
	}
	for i, f := range p.Published {
		field := fmt.Sprintf("published[%d]", i)
		if f.Operation != "" && !slices.Contains(p.Operations(), f.Operation) {
			return bad(field+".operation", f.Operation, "the operation of a load")
		}
		if err := first(arm(field+".arm", f.Arm), load(field+".load", f.Load)); err != nil {
			return err
		}
		if f.Load > 0 && f.Operation != "" && p.OperationOf(p.Loads[f.Load-1]) != f.Operation {
			return bad(field+".load", f.Load, "a load of operation "+f.Operation)
		}
	}
	for i, c := range p.Contrasts {
		field := fmt.Sprintf("contrasts[%d]", i)
		if err := first(arm(field+".with", c.With), arm(field+".without", c.Without)); err != nil {
			return err
		}
	}
	for i, a := range p.Advice {
		field := fmt.Sprintf("advice[%d]", i)
		if err := first(arm(field+".arm", a.Arm), arm(field+".over", a.Over), load(field+".load", a.Load)); err != nil {
			return err
		}
	}
	return nil
}

// completePublished copies the published figures and all that belongs to them. Each text is put on one line.
func (p *Plan) completePublished() {
	p.Published = cloned(p.Published)
	for i := range p.Published {
		f := &p.Published[i]
		f.Missing, f.Flaws = joined(f.Missing), cloned(f.Flaws)
	}
	p.Notes = cloned(p.Notes)
	for i := range p.Notes {
		p.Notes[i] = joined(p.Notes[i])
	}
	p.Contrasts = cloned(p.Contrasts)
	for i := range p.Contrasts {
		p.Contrasts[i].Flaws = cloned(p.Contrasts[i].Flaws)
	}
	p.Advice = cloned(p.Advice)
	for i := range p.Advice {
		p.Advice[i].Missing = joined(p.Advice[i].Missing)
	}
}

// joined joins the lines of a text from YAML.
func joined(text string) string { return strings.Join(strings.Fields(text), " ") }
