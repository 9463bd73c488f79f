package main

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/control"
)

// newHogCommand makes the hidden command that the self-test disturbs
// experiments with: it uses a processor, and does nothing, until its input ends. With
// --idle it lets everybody else go first, and only keeps the processor from idling.
func newHogCommand(a *app) *cobra.Command {
	idle := false
	c := &cobra.Command{
		Use:    "hog",
		Short:  "Use a processor until standard input ends (a self-test's child)",
		Args:   cli.Arguments(0, 0, "no arguments"),
		Hidden: true,
		RunE: func(*cobra.Command, []string) (err error) {
			if err := control.Write(a.Stdout, control.Reply{Ready: &control.Ready{}}); err != nil {
				return err
			}
			var over atomic.Bool
			var burning sync.WaitGroup
			burning.Go(func() {
				if idle {
					runtime.LockOSThread()                                                                            // it ends with this thread's work
					_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0) // everybody may
				}
				for !over.Load() {
				}
			})
			_, err = io.Copy(io.Discard, a.Stdin)
			over.Store(true)
			burning.Wait()
			return err
		},
	}
	c.Flags().BoolVar(&idle, "idle", false, "only while no other program wants it")
	return c
}
