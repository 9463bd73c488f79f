package html

import (
	"html/template"
	"io"
	"slices"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/results/report"
)

// WriteRefused is [WriteWithOutages] with the switch for refused values on.
func WriteRefused(w io.Writer, r *result.Result, outages []report.Outage) error {
	a := analyse.Result(r)
	return write(w, r, &a, options{outages: outages, refused: true})
}

// refusable writes a figure into a table. A refused figure is there twice, and the switch on the page selects which
// is visible: its replacement, or the value struck through, with the reason for readers who hover, focus or listen.
func refusable(text, instead, why string) template.HTML {
	value, refused := report.IsRefused(text)
	if !refused {
		return template.HTML(template.HTMLEscapeString(Tied(text)))
	}
	if instead == "" {
		instead = report.Absent
	}
	said := "refused"
	if why != "" {
		said += ": " + why
	}
	escape := template.HTMLEscapeString
	return template.HTML(`<span class="instead">` + escape(instead) +
		`</span><s class="refused-value" tabindex="0" title="` + escape(said) + `">` +
		escape(Tied(value)) + `<span class="unseen"> (` + escape(said) + `)</span></s>`)
}

// anyRefused reports whether there is a value that the switch would show.
func anyRefused(a *claim.Analysis) bool {
	for i := range a.Loads {
		if report.ShowsRefused(&a.Loads[i]) {
			return true
		}
	}
	for _, c := range a.Curves {
		for _, arm := range c.Arms {
			if slices.ContainsFunc(arm.Points,
				func(p claim.Point) bool { return p.P50.Refused != nil || p.Achieved.Refused != nil }) {
				return true
			}
		}
	}
	found := capacity.Of(a)
	return len(report.RefusedProbes(&found)) > 0 || slices.ContainsFunc(found.Arms,
		func(c claim.ArmCapacity) bool { return c.Rate.Refused != nil || c.Closed.Refused != nil })
}

// refusedWays describes the ways of a decision that have a refused figure.
func refusedWays(row report.Decision) []template.HTML {
	var all []template.HTML
	for _, w := range row.Refused {
		if w.Refused != "" {
			all = append(all, template.HTML(template.HTMLEscapeString(w.Label()+": "))+refusable(w.Refused, "", w.Why))
		}
	}
	return all
}

// shownLoad returns the same load in the analysis with visible refused values.
func (s *sheet) shownLoad(l *claim.LoadAnalysis) *claim.LoadAnalysis {
	for i := range s.shown.Loads {
		if s.shown.Loads[i].Load == l.Load {
			return &s.shown.Loads[i]
		}
	}
	return l
}
