package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/loads"
	"wirelab/lab/plan"
)

func newRunCommand(a *app) *cobra.Command {
	var o conductOptions
	var until string
	var limit time.Duration
	var slice time.Duration
	var seed uint64
	var deadline plan.Duration
	command := &cobra.Command{
		Use:     "run PRESET|FILE",
		Short:   "Run a preset, or the plan in a file",
		Long:    desk.HelpText("run") + desk.HelpText("fail-if"),
		Example: desk.HelpText("run.examples"),
		Args:    cli.Arguments(1, 1, "the name of a preset or a plan file; wirelab presets lists them"),
		RunE: func(command *cobra.Command, args []string) error {
			p, text, err := a.loadPlan(command.Context(), args[0])
			if err != nil {
				return err
			}
			o.place = placing(args[0], text, p)
			if until != "" {
				if p.Until, err = plan.ParseUntil(until); err != nil {
					return err
				}
			}
			if slice != 0 {
				p.Slice = plan.Duration(slice)
			}
			if limit != 0 {
				p.For = plan.Duration(limit)
			}
			if deadline != 0 {
				p.Deadline = deadline
			}
			if seed != 0 {
				p.Seed = seed
			}
			return a.conduct(command.Context(), p, o)
		},
	}
	flags := command.Flags()
	flags.StringVar(&until, "until", "",
		"override the plan: stop when the primary metric's interval is as narrow as `±2%`")
	flags.DurationVar(&limit, "for", 0,
		"override the plan: start no more rounds after this time, once the fewest rounds are done")
	flags.DurationVar(&slice, "slice", 0, "override the plan's length of a slice")
	flags.Uint64Var(&seed, "seed", 0, "override the plan's seed")
	desk.AddDeadlineFlag(flags, &deadline, "as the plan says")
	o.register(a, flags)
	o.hosts.Register(flags)
	return command
}

// loadPlan returns the preset or the plan file of that name, and the file's text.
func (a *app) loadPlan(ctx context.Context, name string) (p plan.Plan, text []byte, err error) {
	if !strings.ContainsAny(name, "/.") {
		p, err = plan.Preset(name)
		return p, nil, err
	}
	text, err = a.ReadFile(ctx, "", name, 2*plan.SizeLimit) // it may be in UTF-16
	if _, absent := os.Stat(name); err != nil && errors.Is(absent, os.ErrNotExist) {
		return p, nil, cli.Usage("there is no file or folder %s; wirelab presets lists the experiments "+
			"that are ready to run", name)
	}
	if err != nil {
		return p, nil, err
	}
	if p, err = plan.Parse(name, text); err != nil {
		return p, nil, err
	}
	p.TLS = p.TLS.In(filepath.Dir(name))
	if p, err = loads.InPlan(ctx, p, filepath.Dir(name)); err != nil {
		return p, nil, plan.At(name, text, err)
	}
	return p, text, nil
}

// placing makes errors of a plan say where they are in its file: those that the file has by
// itself, and not a flag in its stead.
func placing(name string, text []byte, written plan.Plan) func(error) error {
	return func(err error) error {
		if text == nil { // a preset
			return err
		}
		if _, own := written.Complete(); own != nil && own.Error() != err.Error() {
			return err
		}
		return plan.At(name, text, err)
	}
}
