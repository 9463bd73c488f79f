package experiment

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/plan"
)

// versionsDiffer notes which arms reply to the same requests differently from the first arm, if the arms are versions
// of one service. A version that does other work cannot be compared as slower or faster.
func (w *round) versionsDiffer() {
	of := w.c.Plan.External
	if len(of) < 2 || slices.ContainsFunc(of, func(e plan.External) bool { return e.As == "" }) {
		return
	}
	first := slices.IndexFunc(w.arms, func(a *armRun) bool { return a.index == 0 })
	if first < 0 {
		return
	}
	base := digests(w.arms[first].learnt)
	for _, a := range w.arms {
		both, differ := 0, 0
		for request, digest := range digests(a.learnt) {
			if other, known := base[request]; known {
				both++
				if other != digest {
					differ++
				}
			}
		}
		if arm := &w.result.Arms[a.index]; differ > 0 && arm.Differs == "" {
			arm.Differs = fmt.Sprintf("its replies to %d of the first %d requests are not those of %s", differ, both,
				w.result.ArmName(0))
		}
	}
}

// digests returns the digests of replies, by their requests.
func digests(learnt []string) map[string]string {
	all := map[string]string{}
	for _, line := range learnt {
		if at := strings.LastIndexByte(line, ' '); at > 0 {
			all[line[:at]] = line[at+1:]
		}
	}
	return all
}
