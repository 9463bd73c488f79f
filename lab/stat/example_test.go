package stat_test

import (
	"fmt"

	"wirelab/lab/stat"
)

func ExamplePairedRatio() {
	cpuA := []float64{10.0, 10.4, 9.8, 10.9, 10.1, 11.2, 10.6, 10.0} // µs per request, round by round
	cpuB := []float64{13.1, 13.8, 13.0, 14.2, 13.2, 14.9, 13.7, 13.3}
	effect, err := stat.PairedRatio(cpuA, cpuB, stat.DefaultAlpha)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("B/A %.3f [%.3f, %.3f], p %.4f: %s\n",
		effect.Ratio, effect.Low, effect.High, effect.P, stat.Rule{}.Judge(effect).Verdict)
	// Output: B/A 1.316 [1.304, 1.328], p 0.0078: a better
}
