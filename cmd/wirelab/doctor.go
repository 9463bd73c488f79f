package main

import (
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/results/measure"
	"wirelab/results/report/terminal"
)

func newDoctorCommand(a *app) *cobra.Command {
	var o measure.ExamineOptions
	c := &cobra.Command{
		Use:     "doctor",
		Short:   "Find what makes measurements on this machine wrong or imprecise",
		Long:    desk.HelpText("doctor"),
		Example: desk.HelpText("doctor.examples"),
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.Flags().DurationVar(&o.Burst, "burst", 10*time.Second,
		"how long a server is compared with itself; there are always ten rounds")
	c.Flags().BoolVar(&o.NoBurst, "no-burst", false, "make no certificate")
	c.Flags().BoolVarP(&o.Quiet, "quiet", "q", false, "no progress on standard error")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if o.Burst < time.Second || o.Burst > time.Hour {
			return cli.Usage("--burst %v: want 1s to 1h", o.Burst)
		}
		e, err := a.Examine(c.Context(), o)
		if err != nil {
			return err
		}
		if *asJSON {
			err = a.PrintJSON(e)
		} else {
			err = terminal.Examination(a.Stdout, e, a.Style())
		}
		if err == nil && !e.Fit {
			return cli.With(desk.ExitFailed, nil)
		}
		return err
	}
	return c
}
