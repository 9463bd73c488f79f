package main

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"wirelab/cli"
	"wirelab/control"
)

// newHogCommand makes the hidden command that the self-test disturbs
// experiments with: it uses a processor, and does nothing, until its input ends.
func newHogCommand(a *app) *cobra.Command {
	return &cobra.Command{
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
				for !over.Load() {
				}
			})
			_, err = io.Copy(io.Discard, a.Stdin)
			over.Store(true)
			burning.Wait()
			return err
		},
	}
}
