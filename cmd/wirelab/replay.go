package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/history"
	"wirelab/results/measure"
	"wirelab/results/report"
	"wirelab/results/report/terminal"
)

// replayed is the output of replay as JSON.
type replayed struct {
	Original  string            `json:"original"` // id
	Here      string            `json:"here"`     // id
	Sentence  string            `json:"sentence"`
	Agreement history.Agreement `json:"agreement"`
}

func newReplayCommand(a *app) *cobra.Command {
	var rounds int
	var limit time.Duration
	var quiet bool
	var certificate string
	c := &cobra.Command{
		Use:               "replay RESULT",
		Short:             "Measure a result again here, and see which conclusions hold",
		Long:              desk.HelpText("replay"),
		Example:           desk.HelpText("replay.examples"),
		Args:              cli.Arguments(1, 1, "one id or file"),
		ValidArgsFunction: a.CompleteIDs,
	}
	c.Flags().IntVar(&rounds, "rounds", 0, "run exactly this number of rounds, instead of what the plan says")
	c.Flags().DurationVar(&limit, "for", 0, "start no more rounds after this time, once the fewest rounds are done")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress on standard error")
	desk.AddCertificateFlag(c.Flags(), &certificate)
	a.AddRefusedFlag(c.Flags())
	asJSON := cli.JSONFlag(c)
	a.AddFullFlag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := a.checkReplay(rounds, limit, *asJSON); err != nil {
			return err
		}
		was, err := a.Find(c.Context(), args[0])
		if err != nil {
			return err
		}
		if was.Capacity != nil {
			return cli.Usage("%s is a search for capacities, whose rates follow from the measurements, so it cannot "+
				"be run again as it was; "+
				"run wirelab capacity with its arms and --slo '%s', and compare the intervals: %s", was.ID,
				was.Capacity.Objective, was.Command)
		}
		if was.Plan, err = a.Services.MakePlan(c.Context(), was.Plan); err != nil {
			return err
		}
		p, err := a.replayed(c.Context(), again(was.Plan, rounds, limit))
		if err != nil {
			return err
		}
		arms, err := a.Arms(c.Context(), p)
		if err != nil {
			return err
		}
		here, err := a.Measure(c.Context(), p, arms, certificate, quiet)
		if err != nil {
			return err
		}
		if here.Ending == result.Interrupted {
			return a.Interrupted(measure.CompleteRounds(len(here.Rounds)), here.ID)
		}
		return a.tellAgreement(was, here, *asJSON)
	}
	return c
}

// again returns the plan of a replay: the same plan, or a shorter one if the flags say so.
func again(p plan.Plan, rounds int, limit time.Duration) plan.Plan {
	if rounds > 0 {
		p.Rounds, p.Until, p.For = plan.Rounds{Min: rounds, Max: rounds}, 0, 0
	}
	if limit > 0 {
		p.For = plan.Duration(limit)
	}
	return p
}

// replayed returns the complete plan of a replay with all of its arms: conclusions are compared by the positions of
// arms.
func (a *app) replayed(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	p, err := a.Whole(ctx, p)
	if err != nil {
		return p, err
	}
	return p, a.Wholly(ctx, p)
}

// checkReplay refuses impossible flags.
func (a *app) checkReplay(rounds int, limit time.Duration, asJSON bool) error {
	switch {
	case rounds < 0 || limit < 0:
		return cli.Usage("--rounds and --for must not be below 0")
	case asJSON:
		return a.CannotMark("the json of replay", "its text has one, and wirelab results export --format json")
	}
	return nil
}

// tellAgreement prints which conclusions hold, and returns an error if they do not.
func (a *app) tellAgreement(was, here *result.Result, asJSON bool) error {
	original, now := analyse.Result(was), analyse.Result(here)
	agreement := history.Agree(&original, &now, was.Environment, here.Environment)
	var err error
	switch {
	case asJSON:
		err = a.PrintJSON(replayed{was.ID, here.ID, report.Agreed(&agreement), agreement})
	case a.Full:
		err = terminal.WriteAgreement(a.Stdout, was, here, &agreement, a.Style())
	default:
		err = terminal.WriteSummary(a.Stdout, report.SummariseAgreement(was, here, &agreement), a.Style())
	}
	if err == nil && a.Refused && !asJSON {
		err = terminal.WriteRefused(a.Stdout, here, &now, a.Style())
	}
	if err != nil {
		return err
	}
	return agreementError(&agreement)
}

// agreementError returns the exit code of a replay. The reason is printed already.
func agreementError(a *history.Agreement) error {
	primary := a.Count(true, history.Holds) + a.Count(true, history.NotDecided)
	switch {
	case a.Count(true, history.Contradicted)+a.Count(false, history.Contradicted) > 0:
		return cli.With(desk.ExitFailed, nil)
	case primary == 0 || a.Count(true, history.NotDecided) > 0:
		return cli.With(desk.ExitNoWord, nil)
	}
	return nil
}
