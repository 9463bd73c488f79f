package raw_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"wirelab"
)

// Clients tell a server how long a call has, and it sets a timer: a raw driver
// that did not would find the server cheaper than it is (docs/origins.md R5).
func TestServersAreToldTheDeadline(t *testing.T) {
	t.Parallel()
	for _, cell := range cells(t) {
		if cell.Server == "null" {
			continue // calls its handler once for each request
		}
		t.Run(cell.Protocol.Name+"/"+cell.Server, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex // guards told
			told := map[bool]int{}
			const deadline = 20 * time.Second
			hooked, err := cell.Hooked(wirelab.Hooks{Before: func(ctx context.Context, _ string) error {
				until, ok := ctx.Deadline()
				left := time.Until(until)
				mu.Lock()
				defer mu.Unlock()
				told[ok && left > deadline/2 && left <= deadline]++
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			server := start(t, cell.Protocol.Secure, "", hooked.Serve)
			to := server.dialing(1)
			to.Deadline = deadline
			const calls = 300 // more than the series has
			if o := loop(t, dial(t, cell, to, 1, operations(cell)[0]), calls); o.right != calls {
				t.Fatalf("%+v", o)
			}
			mu.Lock()
			defer mu.Unlock()
			if told[true] != calls || told[false] != 0 {
				t.Errorf("%d of %d calls told their deadline", told[true], calls)
			}
		})
	}
}
