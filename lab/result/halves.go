package result

import (
	"wirelab/lab/plan"
)

// Halves are what the server used in the first half of a trial's slices and in the second;
// a slice in the middle is in neither.
type Halves struct {
	First  Stretch `json:"first"`
	Second Stretch `json:"second"`
}

// Stretch is what a server used for so many calls.
type Stretch struct {
	CPU   plan.Duration `json:"cpu"`
	Calls uint64        `json:"calls"`
}

// Add adds slice n of a trial, from 0, that has so many.
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

// Change is what a call cost in the second half over what it cost in the first.
func (h *Halves) Change() (ratio float64, known bool) {
	if h == nil || h.First.CPU <= 0 || h.Second.CPU <= 0 || h.First.Calls == 0 || h.Second.Calls == 0 {
		return 0, false
	}
	return float64(h.Second.CPU) / float64(h.Second.Calls) * float64(h.First.Calls) / float64(h.First.CPU), true
}
