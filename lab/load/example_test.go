package load_test

import (
	"context"
	"fmt"
	"time"

	"wirelab/lab/load"
)

func ExampleRun() {
	call := func(context.Context) error { return nil } // a real call asks a server
	rec, err := load.Run(context.Background(), load.Plan{
		Callers:  []load.Call{call, call},
		Schedule: load.ConstantRate(1000),
		Duration: 50 * time.Millisecond,
		Head:     5 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rec.Planned, "planned,", rec.OK, "ok,", rec.Failures(), "failed,", rec.Unsent, "unsent")
	// Output: 45 planned, 45 ok, 0 failed, 0 unsent
}
