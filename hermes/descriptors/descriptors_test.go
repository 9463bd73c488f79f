package descriptors_test

import (
	"testing"

	"wirelab/hermes/descriptors"
)

func TestRoom(t *testing.T) {
	for limit, want := range map[int]int{600: 450, 1024: 768, 1 << 20: 1<<20 - 256, 0: 0} {
		if got := descriptors.Room(limit); got != want || descriptors.Reserve(limit)+got != limit {
			t.Errorf("of %d descriptors connections may have %d, want %d", limit, got, want)
		}
	}
	if descriptors.Limit() <= 0 {
		t.Error("this process may open nothing")
	}
}
