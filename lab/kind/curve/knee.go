package curve

import (
	"math"
	"strconv"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// walk goes along the levels of an arm's curve.
type walk struct {
	curve  *claim.Curve
	trials [][]*result.Trial // by level and round; nil where there is none
	points []claim.Point
}

func (w walk) rate(level int) float64 { return w.curve.Levels[level].Offered }

// ratio is a figure at level b by the same at level a, over the rounds that have both.
func (w walk) ratio(a, b int, alpha float64, of func(*result.Trial) (float64, bool)) (stat.Effect, bool) {
	var x, y []float64
	for n, t := range w.trials[a] {
		u := w.trials[b][n]
		if t == nil || u == nil {
			continue
		}
		v, okA := of(t)
		z, okB := of(u)
		if okA && okB {
			x, y = append(x, v), append(y, z)
		}
	}
	e, err := stat.PairedRatio(x, y, alpha)
	return e, err == nil
}

// saturation is the lowest level that is overloaded and above which none is
// kept up with: one level that a neighbour on the machine spoilt is no saturation.
func (w walk) saturation() claim.Place {
	kept, known := -1, false // the highest level kept up with
	for i := range w.points {
		if s := w.points[i].Share; s.Interval() {
			known = true
			if s.Value > 1-shortShare {
				kept = i
			}
		}
	}
	if !known {
		return claim.Place{Why: w.unknown(func(p claim.Point) claim.Estimate { return p.Share })}
	}
	for i := kept + 1; i < len(w.points); i++ {
		if !w.points[i].Overloaded {
			continue
		}
		p := claim.Place{Known: true, Level: i, Rate: w.rate(i), High: w.rate(i)}
		if kept >= 0 {
			p.Low = w.rate(kept)
		}
		return p
	}
	if kept < 0 {
		return claim.Place{Why: "it may keep up with no rate, but the intervals do not show it"}
	}
	return claim.Place{Why: "it keeps up with " + PerSecond(w.rate(kept)) +
		", and no higher rate shows that it does not"}
}

// most is the level at which most calls are answered; level 0 where none is known.
func (w walk) most() (level int, most claim.Estimate) {
	most = claim.Estimate{Why: w.unknown(func(p claim.Point) claim.Estimate { return p.Achieved })}
	for i, p := range w.points {
		if p.Achieved.Known && (!most.Known || p.Achieved.Value > most.Value) {
			level, most = i, p.Achieved
		}
	}
	return level, most
}

// power is the rate of answered calls divided by their mean response time.
func power(t *result.Trial) (float64, bool) {
	done, ok := answered(t)
	mean, okMean := meanWaiting(t)
	return done / mean, ok && okMean && done > 0 && mean > 0
}

// knee is the level of most power, with the levels whose power cannot be told
// from its own. At an end of the levels it is not known to be the most.
func (w walk) knee() claim.Place {
	best, most := -1, 0.0
	measured := func(i int) bool { return w.points[i].Achieved.Known && w.points[i].Mean.Known }
	lowest, highest := -1, -1
	for i := range w.points {
		if !measured(i) {
			continue
		}
		if lowest < 0 {
			lowest = i
		}
		highest = i
		if p := w.points[i].Achieved.Value / w.points[i].Mean.Value; p > most {
			best, most = i, p
		}
	}
	switch {
	case best < 0:
		return claim.Place{Why: w.unknown(func(p claim.Point) claim.Estimate { return p.Mean })}
	case lowest == highest:
		return claim.Place{Why: "only one level has figures"}
	case best == lowest:
		return claim.Place{Why: "at or below " + PerSecond(w.rate(best)) + ", the lowest level that has figures"}
	case best == highest:
		return claim.Place{Why: "at or above " + PerSecond(w.rate(best)) + ", the highest level that has figures"}
	}
	p := claim.Place{Known: true, Level: best, Rate: w.rate(best), Low: w.rate(best), High: w.rate(best)}
	for i := range w.points {
		if i == best || !measured(i) {
			continue
		}
		if e, ok := w.ratio(best, i, stat.DefaultAlpha, power); !ok || e.High >= 1 {
			p.Low, p.High = min(p.Low, w.rate(i)), max(p.High, w.rate(i))
		}
	}
	return p
}

// collapse is the lowest level above that of most calls at which fewer are
// answered, beyond doubt and for all such levels together.
func (w walk) collapse(most int) claim.Place {
	above := 0
	for i := most + 1; i < len(w.points); i++ {
		if w.points[i].Achieved.Known {
			above++
		}
	}
	if above == 0 {
		return claim.Place{Why: "the most is answered at the highest level that has figures"}
	}
	for i := most + 1; i < len(w.points); i++ {
		if !w.points[i].Achieved.Known {
			continue
		}
		e, ok := w.ratio(most, i, stat.DefaultAlpha/float64(above), answered)
		if !ok || e.High >= 1 || e.Ratio > 1-fallShare {
			continue
		}
		return claim.Place{
			Known: true, Level: i, Rate: w.rate(i), Low: w.rate(most), High: w.rate(i),
			By: claim.Estimate{Known: true, Value: e.Ratio, Low: e.Low, High: e.High, Rounds: e.Rounds},
		}
	}
	return claim.Place{Why: "above the most that it answers no rate shows fewer"}
}

// unknown says why no level tells something: the first reason.
func (w walk) unknown(of func(claim.Point) claim.Estimate) string {
	for _, p := range w.points {
		if e := of(p); !e.Known && e.Why != "" {
			return e.Why
		}
	}
	return "too few rounds for an interval"
}

// PerSecond writes a rate in words: "12,500/s", "0.5/s".
func PerSecond(rate float64) string {
	if rate >= 100 || rate == math.Trunc(rate) {
		return words.Thousands(uint64(math.Round(rate))) + "/s"
	}
	return strconv.FormatFloat(rate, 'g', 3, 64) + "/s"
}
