package html

import (
	"fmt"
	"html/template"

	"wirelab/lab/result/claim"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// colours is the number of series colours in the style sheet, .s0 to .s7. They are those of Okabe and Ito, which
// colour-blind readers can tell apart, adapted for text on white and on black. Marks and dashes differ too, so that
// nothing depends on colours, and more arms than colours remain distinct.
const colours = 8

// series returns the class that colours an arm.
func series(arm int) string { return fmt.Sprintf("s%d", arm%colours) }

// shape returns the mark of an arm. It advances one extra step each time the colours repeat, so that 48 arms differ
// in colour or mark.
func shape(arm int) int { return (arm + arm/colours) % svg.Shapes }

// dashed returns the class that dashes an arm's line if its colour is a repeated one.
func dashed(arm int) string {
	return [...]string{"", " dash1", " dash2", " dash3"}[arm/colours%4]
}

// glyph draws an arm's line and mark, for legends.
func glyph(arm int) template.HTML {
	d := svg.Glyph(26, 12)
	d.Line(0, 6, 26, 6, svg.Class("line "+series(arm)+dashed(arm)))
	d.Mark(shape(arm), 13, 6, 3.6, svg.Class("dot "+series(arm)))
	return d.Bare()
}

// legend names arms.
func (s *sheet) legend(arms []int) []entry {
	all := make([]entry, len(arms))
	for i, a := range arms {
		all[i] = entry{Glyph: glyph(a), Name: s.r.ArmName(a), Series: a}
	}
	return all
}

// shown splits the arms of a load into those with a figure of a metric, and the reasons of the others.
func shown(l *claim.LoadAnalysis, known func(arm int) (ok bool, why string)) (arms []int, refused []string) {
	var who report.Groups[string, string]
	for a := range l.Arms {
		ok, why := known(a)
		if ok {
			arms = append(arms, a)
			continue
		}
		who.Add(why, l.Arms[a].Name)
	}
	return arms, who.Each(func(why string, names []string) string { return report.List(names) + ": " + why })
}
