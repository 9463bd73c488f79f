package svg

import (
	"math"
	"slices"
)

// Scale maps values to pixels.
type Scale struct {
	from, to   float64 // values
	start, end float64 // pixels
	log        bool
}

// Linear returns a scale on which equal differences have equal lengths. If from is not below to, the scale is
// widened.
func Linear(from, to, start, end float64) Scale {
	if !(to > from) {
		to = from + 1
	}
	return Scale{from: from, to: to, start: start, end: end}
}

// Log returns a scale on which equal ratios have equal lengths. from and to must be above 0.
func Log(from, to, start, end float64) Scale {
	if !(from > 0) {
		from = 1e-9
	}
	if !(to > from*(1+1e-9)) {
		from, to = from/1.5, from*1.5
	}
	return Scale{from: from, to: to, start: start, end: end, log: true}
}

// At returns the pixel of a value. A value off the scale gets the pixel of the nearer end.
func (s Scale) At(v float64) float64 {
	share := (v - s.from) / (s.to - s.from)
	if s.log {
		share = math.Log(max(v, math.SmallestNonzeroFloat64)/s.from) / math.Log(s.to/s.from)
	}
	if math.IsNaN(share) {
		share = 0
	}
	return s.start + min(max(share, 0), 1)*(s.end-s.start)
}

// Has reports whether a value is on the scale.
func (s Scale) Has(v float64) bool { return v >= s.from && v <= s.to }

// Ends returns the first and the last value.
func (s Scale) Ends() (from, to float64) { return s.from, s.to }

// Round returns the scale widened to round values at its ends, for about the given number of steps at most.
func (s Scale) Round(steps int) Scale {
	if s.log {
		s.from, s.to = roundLog(s.from, false), roundLog(s.to, true)
		return s
	}
	step := stepOf(s.to-s.from, steps)
	s.from, s.to = step*math.Floor(s.from/step+1e-9), step*math.Ceil(s.to/step-1e-9)
	return s
}

// roundLog returns the next of 1, 1.5, 2, 3, 5, 7 times a power of ten, above or below v.
func roundLog(v float64, up bool) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	mantissas := []float64{1, 1.5, 2, 3, 5, 7, 10}
	if up {
		for _, m := range mantissas {
			if m*power >= v*(1-1e-9) {
				return m * power
			}
		}
		return 10 * power
	}
	for _, m := range slices.Backward(mantissas) {
		if m*power <= v*(1+1e-9) {
			return m * power
		}
	}
	return power
}

// stepOf returns a step of 1, 2 or 5 times a power of ten.
func stepOf(span float64, steps int) float64 {
	raw := span / float64(max(steps, 1))
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= raw*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// Ticks returns round values on the scale in ascending order, about steps of them at most.
func (s Scale) Ticks(steps int) []float64 {
	if !s.log {
		step := stepOf(s.to-s.from, steps)
		var all []float64
		for i := math.Ceil(s.from/step - 1e-9); i*step <= s.to+1e-9*step; i++ {
			all = append(all, i*step)
		}
		return all
	}
	for _, mantissas := range [][]float64{{1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		if all := s.decades(mantissas, 1); len(all) <= max(steps, 2) {
			return all
		}
	}
	for jump := 2; ; jump++ {
		if all := s.decades([]float64{1}, jump); len(all) <= max(steps, 2) || jump > 12 {
			return all
		}
	}
}

func (s Scale) decades(mantissas []float64, jump int) []float64 {
	var all []float64
	first, last := int(math.Floor(math.Log10(s.from))), int(math.Ceil(math.Log10(s.to)))
	for e := first; e <= last; e += jump {
		for _, m := range mantissas {
			if v := m * math.Pow(10, float64(e)); v >= s.from*(1-1e-9) && v <= s.to*(1+1e-9) {
				all = append(all, v)
			}
		}
	}
	return all
}

// Tick is a value on an axis with its label and the label's width.
type Tick struct {
	At    float64 // pixel
	Label string
}

// Spaced returns those of the values, which are in order of importance, whose centred labels touch neither each other
// nor the ends from and to.
func Spaced(values []float64, at func(float64) float64, label func(float64) string, size, from, to float64) []Tick {
	const gap = 6
	type box struct{ low, high float64 }
	var taken []box
	var all []Tick
	for _, v := range values {
		t := Tick{At: at(v), Label: label(v)}
		half := Width(t.Label, size) / 2
		b := box{t.At - half - gap/2, t.At + half + gap/2}
		if b.low < from-gap/2 || b.high > to+gap/2 ||
			slices.ContainsFunc(taken, func(o box) bool { return b.low < o.high && o.low < b.high }) {
			continue
		}
		taken, all = append(taken, b), append(all, t)
	}
	slices.SortFunc(all, func(a, b Tick) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return all
}
