package databasetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"wirelab"
	"wirelab/workload/logging"
)

// UntilFull writes long entries, which hardly compress, to a logger on a small
// disk until there is no room: that is ResourceExhausted, and what was
// acknowledged is there, whole and alone.
func UntilFull(t *testing.T, s logging.Service) {
	t.Helper()
	const most = 200
	chance := rand.New(rand.NewPCG(1, 1))
	letters := make([]byte, logging.DataLimit/2)
	var stored []logging.Stored
	for n := range most {
		for i := range letters {
			letters[i] = byte(33 + chance.IntN(90))
		}
		e := logging.Entry{ID: fmt.Sprint("long-", n), Name: "n", Data: string(letters)}
		if _, err := s.WriteLog(limited(t), e); err != nil {
			wantCode(t, "no room", err, wirelab.ResourceExhausted)
			break
		}
		stored = append(stored, get(t, s, e.ID))
	}
	if len(stored) == 0 || len(stored) == most {
		t.Fatalf("full after %d entries", len(stored))
	}
	same(t, "the entries", pages(t, s, logging.Query{}), keep(stored, every))
}
