package report

import (
	"testing"

	"wirelab/lab/kind/kinds"
)

// A kind of load without its own shape would be shown as calls are.
func TestEachKindHasAShape(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All() {
		of := shapes()[k.Name]
		if k.Gates == nil { // it is what calls have besides, and no load's
			continue
		}
		if of == nil {
			t.Errorf("%s have none", k.Name)
			continue
		}
		if s := of(); s.Sends == "" || s.Done == "" || s.Right == "" || s.main == nil || s.limited == nil {
			t.Errorf("that of %s lacks words: %+v", k.Name, s)
		}
	}
}
