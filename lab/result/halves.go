package result

import (
	"wirelab/lab/plan"
)

// Halves are what the server used in the first and in the second half of a trial's slices. A slice in the middle is
// in neither.
type Halves struct {
	First  Stretch `json:"first"`
	Second Stretch `json:"second"`
}

// Stretch is the CPU time that a server used for a number of calls.
type Stretch struct {
	CPU   plan.Duration `json:"cpu"`
	Calls uint64        `json:"calls"`
}

// Add adds slice n, from 0, of a trial with of slices.
func (h *Halves) Add(n, of int, cpu plan.Duration, calls uint64) *Halves {
	if h == nil {
		h = &Halves{}
	}
	switch {
	case 2*(n+1) <= of:
		h.First.CPU, h.First.Calls = h.First.CPU+cpu, h.First.Calls+calls
	case 2*n >= of:
		h.Second.CPU, h.Second.Calls = h.Second.CPU+cpu, h.Second.Calls+calls
	}
	return h
}

// Change is the cost of a call in the second half divided by that in the first.
func (h *Halves) Change() (ratio float64, known bool) {
	if h == nil || h.First.CPU <= 0 || h.Second.CPU <= 0 || h.First.Calls == 0 || h.Second.Calls == 0 {
		return 0, false
	}
	return float64(h.Second.CPU) / float64(h.Second.Calls) * float64(h.First.Calls) / float64(h.First.CPU), true
}
