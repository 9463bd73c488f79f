package torture

import (
	"context"
	"testing"
	"time"

	"wirelab/hermes/local"
)

// Every node is stopped in order and started again, one after the other, under load, as for a
// new version. A leader hands over before it stops, so that publishers wait for moments.
func TestRollingRestart(t *testing.T) {
	long(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*rounds)*time.Minute)
	defer cancel()
	cluster, c := begin(ctx, t, local.Options{})
	gap := found.does(t, "every node restarted in order (the longest gap)", 1)
	whileLoaded(ctx, t, c, "rolling", func(a *account) {
		for i := 0; more(i, *rounds); i++ {
			for range cluster.Nodes {
				id := leader(ctx, t, c) // the hardest first, and again
				if err := cluster.Nodes[id-1].Stop(ctx); err != nil {
					t.Error(err)
				}
				if now := leader(ctx, t, c); now == id {
					t.Errorf("node %d leads and is stopped", id)
				}
				goesOn(ctx, t, a)
				if err := cluster.Nodes[id-1].Start(ctx); err != nil {
					t.Fatal(err)
				}
				caughtUp(ctx, t, c)
			}
		}
		gap.cost(t, a.gap())
	})
}
