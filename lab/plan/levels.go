package plan

import (
	"math"
	"slices"
	"strconv"
)

// LevelsMax is the most rates of a curve: as many as a plan's loads.
const LevelsMax = loadsMax

// levelShares of what an arm can do are the rates that tell most of it: some
// far below, most where the queue begins to grow, some beyond.
func levelShares() []float64 { return []float64{0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2} }

// closeLevels are so near each other that one will do for both.
const closeLevels = 1.03

// Levels chooses at most so many rates for a curve from what each arm does at
// most, in calls per second, > 0: common ones, so that arms can be compared at
// the same rate, ascending, of two digits so that people can read them. The
// lowest is a tenth of the weakest arm's most, the highest a fifth above the
// strongest's; where there are too many the nearest are made one.
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
		switch at { // the ends stay
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

// EvenLevels are count rates up to one, at equal distances from 0.
func EvenLevels(to float64, count int) []float64 {
	all := make([]float64, count)
	for i := range all {
		v, err := strconv.ParseFloat(strconv.FormatFloat(to*float64(i+1)/float64(count), 'g', 4, 64), 64)
		if err != nil {
			v = to * float64(i+1) / float64(count) // not reached: it was written just now
		}
		all[i] = v
	}
	return all
}

func twoDigits(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	if err != nil {
		return v // not reached: it was written just now
	}
	return min(max(short, rateMin), rateMax)
}
