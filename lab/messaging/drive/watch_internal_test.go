package drive

import (
	"slices"
	"testing"

	"wirelab/lab/result"
)

// A run with more readings than are kept still shows its whole time and its one peak.
func TestBacklogOfHours(t *testing.T) {
	t.Parallel()
	for _, peak := range []int{0, 100, result.BacklogLimit, 3*result.BacklogLimit + 17, 10*result.BacklogLimit - 1} {
		w := watching{merged: 1}
		for n := range 10 * result.BacklogLimit {
			backlog := int64(1)
			if n == peak {
				backlog = 1000
			}
			w.waits(n, backlog)
		}
		if w.merged != 16 || len(w.backlog) != 10*result.BacklogLimit/16 {
			t.Errorf("%d readings, each of %d", len(w.backlog), w.merged)
		}
		if at := slices.Index(w.backlog, 1000); at != peak/16 {
			t.Errorf("the peak at %d is reading %d of %d", peak, at, w.merged)
		}
	}
}
