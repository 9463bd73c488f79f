package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/metric"
)

// Factorial reports whether a result was measured in order to be explained.
func Factorial(r *result.Result) bool {
	return r.Plan.Name == ExplainPlan || r.Plan.Explain != plan.Corners{}
}

// ExplainPlan is the name of the plans that "wirelab explain" makes.
const ExplainPlan = "explain"

// Explained describes the effects of a load's factors on its primary metric: the parts of each difference, the effect
// of each factor, and which factors interact. It gives numbers only where the intervals allow it. It does not name
// the load.
func Explained(r *result.Result, e *explain.Explanation, l *explain.LoadExplanation) []string {
	if len(l.Metrics) == 0 {
		return []string{"Nothing was measured."}
	}
	x := &l.Metrics[0]
	m, err := kinds.MetricByID(x.Metric)
	if err != nil || x.Why != "" {
		return []string{"Nothing can be explained: " + x.Why + "."}
	}
	var said []string
	for i := range x.Attributions {
		where := ""
		if at := &x.Attributions[i]; at.Where != "" {
			where = "with " + at.Where + ", "
		}
		said = append(said, capital(where+attributed(r, m, &x.Attributions[i])))
	}
	return append(said, capital(effects(e, m, x)), capital(interactions(e, x)))
}

// capital puts a capital at the beginning of a sentence. A name keeps its spelling.
func capital(text string) string {
	for _, word := range []string{"of", "on", "no", "with", "the", "nothing"} {
		if strings.HasPrefix(text, word+" ") {
			return strings.ToUpper(text[:1]) + text[1:]
		}
	}
	return text
}

// Factors names the factors in which the arms differ: "18 arms: transport (HTTP/1.1, HTTP/2, gRPC), encoding (JSON,
// Protocol Buffers), TLS (off, on)".
func Factors(r *result.Result, e *explain.Explanation) string {
	all := make([]string, len(e.Factors))
	for i, f := range e.Factors {
		all[i] = f.Name + " (" + strings.Join(f.Levels, ", ") + ")"
	}
	return fmt.Sprintf("%d arms: %s", len(r.Plan.Arms), strings.Join(all, ", "))
}

// attributed names the parts of a difference: "of grpc's −15.4 % server CPU per request against http1-json (95 % CI
// −16.8 to −14.1), encoding is −27.2 points (−28.1 to −26.3), framing +2.0 (…); TLS nothing that shows within ±3 %."
func attributed(r *result.Result, m metric.Metric, at *explain.Attribution) string {
	from, to := r.ArmName(at.From), r.ArmName(at.To)
	if at.Total == nil {
		return fmt.Sprintf("the difference between %s and %s cannot be split into parts: %s.", from, to, at.Why)
	}
	d := at.Total.Difference
	if d.Verdict == claim.TooFew || !d.Known {
		return fmt.Sprintf("nothing is claimed about %s and %s yet: %s.", to, from, d.Why)
	}
	whole := fmt.Sprintf("of %s's %s %s against %s (%s)", to, Change(d), m.Title, from, confident(d))
	switch {
	case d.Exact:
		whole = fmt.Sprintf("of %s's %s %s against %s (exact)", to, Change(d), m.Title, from)
	case d.Verdict == claim.Equivalent:
		whole = fmt.Sprintf("%s and %s are equivalent within %s in %s, and of that", to, from, Margin(d.Margin),
			m.Title)
	case d.Verdict == claim.Inconclusive:
		whole = fmt.Sprintf("the whole difference of %s from %s in %s is undecided (%s; %s), and of it", to, from,
			m.Title, confident(d), d.Why)
	}
	var claimed []string
	groups := map[claim.Verdict][]string{}
	for i := range at.Shares {
		s := &at.Shares[i]
		text := s.Factor
		if s.Difference.Verdict == claim.Better || s.Difference.Verdict == claim.Worse {
			claimed = append(claimed, text+" is "+Points(s)+" points"+within(s))
			continue
		}
		groups[s.Difference.Verdict] = append(groups[s.Difference.Verdict], text)
	}
	var parts []string
	if len(claimed) > 0 {
		parts = append(parts, List(claimed))
	}
	if same := groups[claim.Equivalent]; len(same) > 0 {
		parts = append(parts, List(same)+": nothing that shows within "+Margin(at.Shares[0].Difference.Margin))
	}
	if open := groups[claim.Inconclusive]; len(open) > 0 {
		parts = append(parts, List(open)+": undecided")
	}
	if len(parts) == 0 {
		return whole + ", nothing is known of its parts."
	}
	return whole + ", " + strings.Join(parts, "; ") + "."
}

// confident writes an interval within a sentence: "95 % CI −16.8 to −14.1".
func confident(d *claim.Difference) string {
	if !Bounded(d) {
		return Interval(d)
	}
	low, high, _ := strings.Cut(strings.Trim(Interval(d), "[]"), ", ")
	return "95 % CI " + low + " to " + high
}

func within(s *explain.Share) string {
	if s.Difference.Exact {
		return " (exact)"
	}
	if !Bounded(s.Difference) {
		return " (" + Interval(s.Difference) + ")"
	}
	low, high, _ := strings.Cut(strings.Trim(Interval(s.Difference), "[]"), ", ")
	return " (" + low + " to " + high + ")"
}

// effects describes the average effect of each factor.
func effects(e *explain.Explanation, m metric.Metric, x *explain.MetricExplanation) string {
	w := words(m)
	var claims, same, open, doubtful []string
	var hidden []string
	margin := ""
	for i := range x.Effects {
		f := &x.Effects[i]
		if f.Difference == nil {
			continue
		}
		level, against := Level(e, f, 0), Against(e, f, 0)
		if len(f.Assumes) > 0 {
			doubtful = append(doubtful, level)
			for _, pair := range pairs(e, f) {
				if !slices.Contains(hidden, pair) {
					hidden = append(hidden, pair)
				}
			}
		}
		switch f.Difference.Verdict {
		case claim.Better, claim.Worse:
			claims = append(claims, phrase(w, level, f.Difference)+" than "+against)
		case claim.Equivalent:
			same, margin = append(same, level+" and "+against), Margin(f.Difference.Margin)
		case claim.Inconclusive:
			open = append(open, level+" against "+against)
		case claim.TooFew:
			return "nothing is claimed about any factor yet: " + f.Difference.Why + "."
		}
	}
	var parts []string
	if len(claims) > 0 {
		parts = append(parts, strings.Join(claims, "; "))
	}
	if len(same) > 0 {
		parts = append(parts, "alike within "+margin+": "+strings.Join(same, ", "))
	}
	if len(open) > 0 {
		parts = append(parts, "undecided: "+strings.Join(open, ", "))
	}
	if len(parts) == 0 {
		return "no factor's effect can be estimated."
	}
	if len(doubtful) > 0 {
		parts = append(parts, "the effect of "+List(doubtful)+" holds only if there is no "+
			"interaction of "+List(hidden)+", which cannot be estimated")
	}
	return "on average over the other factors, " + strings.Join(parts, "; ") + "."
}

// pairs names the interactions that an effect assumes to be zero.
func pairs(e *explain.Explanation, f *explain.FactorEffect) []string {
	var all []string
	for _, pair := range f.Assumes {
		all = append(all, e.Factors[pair[0]].Name+" × "+e.Factors[pair[1]].Name)
	}
	return all
}

// named is how many interactions a sentence names.
const named = 3

// interactions says which factors interact.
func interactions(e *explain.Explanation, x *explain.MetricExplanation) string {
	var claims []*explain.FactorEffect
	known, open, margin := 0, 0, 0.0
	for i := range x.Interactions {
		f := &x.Interactions[i]
		if f.Difference == nil {
			continue
		}
		if f.Difference.Verdict == claim.TooFew {
			return "nothing is claimed about any interaction yet: " + f.Difference.Why + "."
		}
		known++
		margin = max(margin, f.Difference.Margin)
		switch v := f.Difference.Verdict; {
		case v == claim.Better || v == claim.Worse:
			claims = append(claims, f)
		case !v.Claim():
			open++
		}
	}
	switch {
	case known == 0:
		return "no interaction of two factors can be estimated."
	case len(claims) == 0 && open == 0:
		all := fmt.Sprintf("all %d interactions", known)
		if unknown := len(x.Interactions) - known; unknown > 0 {
			all = fmt.Sprintf("the %d interactions that can be estimated", known)
		}
		return fmt.Sprintf("no two factors are shown to act together: %s are within %s.", all, Margin(margin))
	case len(claims) == 0:
		return fmt.Sprintf("no two factors are shown to act together; %d of %d interactions are undecided.", open,
			known)
	}
	slices.SortStableFunc(claims, func(a, b *explain.FactorEffect) int {
		switch x, y := math.Abs(math.Log(a.Difference.Ratio)), math.Abs(math.Log(b.Difference.Ratio)); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	var said []string
	for _, f := range claims[:min(named, len(claims))] {
		said = append(said, together(e, f))
	}
	text := strings.Join(said, "; ")
	if more := len(claims) - named; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text + "."
}

// together describes an interaction: "with gRPC the step from JSON to Protocol Buffers comes out 11.3 % lower (95 %
// CI 10.1 to 12.5) than with HTTP/1.1".
func together(e *explain.Explanation, f *explain.FactorEffect) string {
	d, way := f.Difference, "higher"
	low, high := d.Low, d.High
	if d.Ratio < 1 {
		way, low, high = "lower", high, low
	}
	n := decimals(d)
	sure := fmt.Sprintf("95 %% CI %s to %s", unsigned(low, n), unsigned(high, n))
	if d.Exact {
		sure = "exact"
	}
	return fmt.Sprintf("with %s the step from %s to %s comes out %s %% %s (%s) than with %s",
		Level(e, f, 0), Against(e, f, 1), Level(e, f, 1), unsigned(d.Ratio, n), way, sure, Against(e, f, 0))
}

// Level names the level to which the i-th factor of an effect changes: "gRPC", "TLS on", "data 100".
func Level(e *explain.Explanation, f *explain.FactorEffect, i int) string {
	return levelName(e, f.Factors[i], f.Levels[i])
}

// Against names the level from which the i-th factor of an effect changes.
func Against(e *explain.Explanation, f *explain.FactorEffect, i int) string {
	return levelName(e, f.Factors[i], f.Against[i])
}

func levelName(e *explain.Explanation, factor, level int) string {
	x := &e.Factors[factor]
	if x.Name == explain.Transport || x.Name == explain.Encoding {
		return x.Levels[level]
	}
	return x.Name + " " + x.Levels[level]
}

// EffectName names an effect for a table: "gRPC vs HTTP/1.1", "TLS on vs off"; for an interaction, "gRPC × Protocol
// Buffers".
func EffectName(e *explain.Explanation, f *explain.FactorEffect) string {
	if len(f.Factors) == 2 {
		return Level(e, f, 0) + " × " + Level(e, f, 1)
	}
	return Level(e, f, 0) + " vs " + e.Factors[f.Factors[0]].Levels[f.Against[0]]
}

// Interacts writes the verdict on an interaction.
func Interacts(d *claim.Difference) string {
	switch {
	case d == nil:
		return "cannot be estimated"
	case d.Verdict == claim.Better || d.Verdict == claim.Worse:
		return "act together"
	case d.Verdict == claim.Equivalent && d.Exact:
		return "none"
	case d.Verdict == claim.Equivalent:
		return "none " + Margin(d.Margin)
	case d.Verdict == claim.Inconclusive:
		return "undecided, " + MoreRounds(d.More)
	}
	return string(d.Verdict)
}

// Points writes a share in percent points: "−27.2".
func Points(s *explain.Share) string {
	return strings.TrimSuffix(Change(s.Difference), " %")
}

// ShareAmount writes a share in a unit. It shows as many decimals as the whole figure has with three digits. It
// returns [Absent] if the amount is not known.
func ShareAmount(a explain.Amount, base float64, u Unit) (value, interval string) {
	if !a.Known {
		return Absent, ""
	}
	places := 2
	if v := base / u.Size; v >= 1 {
		places = max(0, 2-int(math.Log10(v)))
	}
	write := func(v float64) string {
		text := strconv.FormatFloat(v/u.Size, 'f', places, 64)
		switch {
		case strings.Trim(text, "-0.") == "":
			return strings.TrimPrefix(text, "-")
		case text[0] != '-':
			text = "+" + text
		}
		return group(sign(text))
	}
	if a.Low == a.High {
		return write(a.Value), "exact"
	}
	return write(a.Value), "[" + write(a.Low) + ", " + write(a.High) + "]"
}

// ExplainedNotes says what the arms cannot show, what was assumed, which arms were not used, and how much of the
// variation is explained.
func ExplainedNotes(r *result.Result, e *explain.Explanation, l *explain.LoadExplanation) []string {
	var notes []string
	seen := map[string]bool{}
	add := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !seen[text] {
			seen[text] = true
			notes = append(notes, text)
		}
	}
	for i := range l.Metrics {
		x := &l.Metrics[i]
		m, err := kinds.MetricByID(x.Metric)
		if err != nil {
			continue
		}
		for _, text := range leftOut(r, x.Left) {
			add("%s: %s", m.Short, text)
		}
		if x.Why != "" && i > 0 {
			add("%s is not explained: %s", m.Short, x.Why)
		}
		if i > 0 {
			continue // the notes below are nearly always the same under all loads
		}
		for _, f := range slices.Concat(x.Effects, x.Interactions) {
			if f.Why != "" {
				add("%s cannot be estimated: %s", EffectName(e, &f), f.Why)
			}
			if len(f.Assumes) > 0 {
				add("%s: estimated only if there is no interaction of %s", EffectName(e, &f), List(pairs(e, &f)))
			}
		}
		for _, at := range x.Attributions {
			for _, note := range at.Notes {
				add("%s", note)
			}
		}
		if x.Explained > 0 && len(x.Effects) > 0 {
			add("main effects and interactions of two account for %s of the variation of %s between the arms",
				told(x.Explained), m.Short)
		}
	}
	for _, note := range l.Notes {
		add("%s", note)
	}
	return notes
}

// leftOut says which arms were not used. Arms that one check refuses share the reason of the first.
func leftOut(r *result.Result, left []explain.LeftArm) []string {
	var who Groups[string, explain.LeftArm]
	for _, one := range left {
		who.Add(cmp.Or(string(one.Gate), one.Why), one)
	}
	return who.Each(func(_ string, arms []explain.LeftArm) string {
		var names []string
		for _, one := range arms {
			names = append(names, r.ArmName(one.Arm))
		}
		first, of := arms[0].Why, List(names)
		if len(names) > listed {
			of = fmt.Sprintf("%d arms", len(names))
		}
		if len(names) == len(r.Plan.Arms) {
			of = "none of the arms"
		}
		if len(names) > 1 && arms[0].Gate != "" {
			first = names[0] + ": " + first
		}
		verb := choose(len(names) == len(r.Plan.Arms), " may be used: ", " may not be used: ")
		return of + verb + first
	})
}

// told writes a share of the variation. It never says "all" of it.
func told(share float64) string {
	if share > 0.999 {
		return "more than 99.9 %"
	}
	return Significant(100*share, 3) + " %"
}

// ExplainMethod says how to read an explanation.
func ExplainMethod(r *result.Result) string {
	text := "Effects are ratios, on average over the levels of the other factors, fitted within every round (least " +
		"squares on logarithms); intervals are " +
		"Student's t over rounds, 95 %"
	if r.Plan.Until > 0 {
		text += " (the primary metric's 96 %)"
	}
	return text + ". Shares of a difference are averages over all orders of changing its factors (Shapley); points " +
		"are percent of the first arm's figure, " +
		"and they add up. A claim is corrected for all effects, or all shares, of its load (Holm; Benjamini–Hochberg " +
		"for metrics other than the primary)."
}

// HiddenInteractions says how many interactions a table leaves out.
func HiddenInteractions(n int) string {
	return fmt.Sprintf("%d more are none within the margin; --json has them", n)
}
