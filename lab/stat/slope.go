package stat

// Slope is the increase of y for each unit of x, by least squares. It is 0 if fewer than two values of x differ. If x
// and y differ in length, the rest of the longer one is ignored.
func Slope(x, y []float64) float64 {
	n := min(len(x), len(y))
	var meanX, meanY float64
	for i := range n {
		meanX += x[i] / float64(n)
		meanY += y[i] / float64(n)
	}
	// Computed about the means, because sums of squares of large numbers would leave no significant digits for their
	// differences.
	var xx, xy float64
	for i := range n {
		dx := x[i] - meanX
		xx += dx * dx
		xy += dx * (y[i] - meanY)
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}
