package stat

// TQuantile is the quantile of Student's t, for tests that check intervals by hand.
func TQuantile(p float64, nu int) float64 { return tQuantile(p, nu) }
