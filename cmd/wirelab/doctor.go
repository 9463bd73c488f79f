package main

import (
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/results/measure"
	"wirelab/results/report/terminal"
)

func newDoctorCommand(a *app) *cobra.Command {
	var o measure.ExamineOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find what makes measurements on this machine wrong or imprecise",
		Long: `Doctor checks what can make measurements wrong or imprecise on this machine: CPUs,
clock, other programs, memory and limits. Each finding says what to do. It is

  fine       no problem
  warning    numbers are right, but need more rounds or care
  bad        numbers would be wrong, or be refused

Then doctor compares a server with itself, in rounds with new processes. Both arms
are equal, so every difference comes from the machine. From this it computes the
smallest difference that the machine can detect in 10 s, in a minute and in five
minutes: the certificate. Experiments of the next hour show it in their reports.

Exit code 0: nothing is bad; 1: something is.`,
		Example: `  wirelab doctor
  wirelab doctor --burst 30s          a certificate from more rounds
  wirelab doctor --no-burst           look only
  wirelab doctor --json`,
		Args: cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.Flags().DurationVar(&o.Burst, "burst", 10*time.Second, "how long a server is compared with itself; there are always ten rounds")
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
			err = terminal.Examination(a.Stdout, e, a.style())
		}
		if err == nil && !e.Fit {
			return cli.With(exitFailed, nil)
		}
		return err
	}
	return c
}
