package plan

import (
	"math"
	"slices"
	"strconv"
)

// LevelsMax is the maximum number of rates of a curve, which is the maximum number of loads of a plan.
const LevelsMax = loadsMax

// levelShares are the rates that show most, as shares of an arm's maximum: some far below it, most where the queue
// begins to grow, some above it.
func levelShares() []float64 { return []float64{0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2} }

// closeLevels is the ratio below which two rates are merged.
const closeLevels = 1.03

// Levels chooses the rates of a curve. most has each arm's maximum in calls per second, > 0. It returns at most count
// rates, ascending and rounded to two digits. All arms get the same rates, so that they can be compared. The lowest
// rate is a tenth of the weakest arm's maximum, the highest 1.2 times the strongest's. If there are too many, the
// nearest two are merged.
func Levels(most []float64, count int) []float64 {
	var all []float64
	for _, m := range most {
		for _, share := range levelShares() {
			all = append(all, share*m)
		}
	}
	slices.Sort(all)
	for len(all) > 2 {
		at, gap := 0, math.Inf(1)
		for i := range len(all) - 1 {
			if g := all[i+1] / all[i]; g < gap {
				at, gap = i, g
			}
		}
		if len(all) <= count && gap >= closeLevels {
			break
		}
		one := math.Sqrt(all[at] * all[at+1])
		switch at { // the lowest and the highest rate are kept
		case 0:
			one = all[0]
		case len(all) - 2:
			one = all[at+1]
		}
		all = slices.Replace(all, at, at+2, one)
	}
	for i, v := range all {
		all[i] = twoDigits(v)
	}
	return slices.Compact(all)
}

// EvenLevels returns count rates at equal distances from 0, up to and including to.
func EvenLevels(to float64, count int) []float64 {
	all := make([]float64, count)
	for i := range all {
		v, err := strconv.ParseFloat(strconv.FormatFloat(to*float64(i+1)/float64(count), 'g', 4, 64), 64)
		if err != nil {
			v = to * float64(i+1) / float64(count) // cannot happen: FormatFloat wrote the text
		}
		all[i] = v
	}
	return all
}

func twoDigits(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	if err != nil {
		return v // cannot happen: FormatFloat wrote the text
	}
	return min(max(short, rateMin), rateMax)
}
