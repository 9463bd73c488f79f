// Package stat is the arithmetic of a claim: histograms of durations, quantiles, intervals of ratios between paired
// rounds, tests, verdicts, and the rules for when to stop and when a warm-up is over.
//
// The package is pure. The same arguments give the same numbers on every machine, no clock is read, and randomness is
// seeded by a constant or an argument. It knows nothing about calls, servers or reports. The method behind it: the
// unit is a round in which every arm runs. Arms are compared by the logarithm of their ratio within a round, so that
// drift from round to round cancels.
//
// # One definition of a percentile
//
// Everywhere in the lab, the q-quantile of n values is the smallest value such that at least q·n of them are at or
// below it: the value of rank ⌈q·n⌉, never interpolated. A [Histogram] knows values to within 0.1 %, and returns the
// highest value in the bucket of that value. Quantiles are never averaged; histograms are merged.
package stat

import "errors"

// ErrInput is wrapped by every error about an argument: too few rounds; a value that is zero, negative, infinite or
// NaN where a logarithm is needed; a probability outside its range. No function of this package returns NaN.
var ErrInput = errors.New("stat: input")
