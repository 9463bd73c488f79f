package report

import (
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/claim"
)

// A kind of load without its own shape must not be shown as calls are.
func TestEachKindHasAShape(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All() {
		if k.Gates == nil { // it is what calls have besides, and no load's
			continue
		}
		if s := ShapeOf(k.Name); s.Sends == "" || s.Done == "" || s.Right == "" || s.main == nil || s.limited == nil {
			t.Errorf("that of %s lacks words: %+v", k.Name, s)
		}
		if s := plainShape(k); s.Sends == "" || s.Right == " right" || len(s.main(&claim.LoadAnalysis{})) < 2 {
			t.Errorf("%s alone have no words or metrics: %+v", k.Name, s)
		}
	}
}
