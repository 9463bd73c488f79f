package descriptors_test

import (
	"testing"

	"wirelab/hermes/descriptors"
)

func TestRoom(t *testing.T) {
	for limit, want := range map[int]int{128: 32, 600: 386, 1024: 704, 1 << 20: 1<<20 - 320, 0: 0} {
		log := descriptors.Log(limit)
		if got := descriptors.Room(limit, log); got != want {
			t.Errorf("of %d descriptors connections may have %d in addition to the log's %d, want %d", limit, got, log,
				want)
		}
	}
	if descriptors.Limit() <= 0 {
		t.Error("this process may open nothing")
	}
}
