package html

import (
	"testing"

	"wirelab/lab/kind/kinds"
)

// A kind of load without its own look must not be drawn as calls are.
func TestEachKindHasALook(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All() {
		of := looks()[k.Name]
		if k.Gates == nil { // it is what calls have besides, and no load's
			continue
		}
		if l := plainLook(k); l.cpu == nil || l.bytes == nil || l.title == "" || l.caption == nil ||
			len(l.quantiles) == 0 || l.stages == nil || l.waited == nil {
			t.Errorf("%s alone have no whole look", k.Name)
		}
		if of == nil {
			continue
		}
		if l := of(); l.cpu == nil || l.bytes == nil || l.title == "" || l.caption == nil || len(l.quantiles) != 4 ||
			l.stages == nil || l.waited == nil {
			t.Errorf("that of %s is not whole", k.Name)
		}
	}
}
