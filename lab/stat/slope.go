package stat

// Slope is by how much y grows with each unit of x, by least squares. It is 0 where
// fewer than two values of x differ, and takes as many of y as of x.
func Slope(x, y []float64) float64 {
	n := min(len(x), len(y))
	var meanX, meanY float64
	for i := range n {
		meanX += x[i] / float64(n)
		meanY += y[i] / float64(n)
	}
	// About the means: sums of squares of large numbers would leave no digits between them.
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
