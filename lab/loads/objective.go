package loads

import (
	"strings"

	"wirelab"
)

// Thresholds returns the thresholds for an objective: each fails if its part of the objective is missed.
func Thresholds(slo string) (all []string, err error) {
	if slo == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(slo, ",") {
		metric, limit, ok := strings.Cut(part, "<")
		if !ok {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"--slo %q: want an objective such as 'p99<20ms,errors<0.1%%'", part)
		}
		all = append(all, strings.TrimSpace(metric)+" > "+strings.TrimSpace(limit))
	}
	return all, nil
}
