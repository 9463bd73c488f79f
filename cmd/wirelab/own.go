package main

import (
	"context"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/lab/plan"
	"wirelab/lab/services"
)

func newOwnCommand(a *app) *cobra.Command {
	own := &cobra.Command{
		Use:     "own",
		Short:   "Describe a service of your own, and check the description",
		Long:    desk.HelpText("own"),
		Example: desk.HelpText("own.examples"),
	}
	own.AddCommand(newOwnInitCommand(a), newOwnCheckCommand(a))
	return own
}

func newOwnInitCommand(a *app) *cobra.Command {
	var headers []string
	var to, name string
	var secure desk.SecureFlags
	c := &cobra.Command{
		Use:     "init TARGET|FILE",
		Short:   "Write the description of a service, from the service itself or from a file",
		Long:    desk.HelpText("own-init"),
		Example: desk.HelpText("own-init.examples"),
		Args:    cli.Arguments(1, 2, "one URL or file, such as grpc://localhost:9000 or openapi.yaml"),
	}
	c.Flags().StringArrayVarP(&headers, "header", "H", nil,
		"a `header`, or metadata of gRPC, as 'Name: value'; can be given several times")
	c.Flags().StringVarP(&to, "output", "o", "",
		"write to this `file`, which must not exist (default: standard output)")
	c.Flags().StringVar(&name, "name", "", "the `name` of the service (default: from its host or file)")
	secure.Register(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		given, err := a.Services.TypedHeaders(headers)
		if err != nil {
			return err
		}
		d, notes, err := a.Services.Discovered(c.Context(), args, given, secure.TLS)
		if err != nil {
			return err
		}
		if name != "" {
			d.Service = name
		}
		for _, note := range notes {
			a.Note("%s", note)
		}
		text, err := yaml.MarshalWithOptions(d, yaml.UseLiteralStyleIfMultiline(true),
			yaml.CustomMarshaler(services.NumberText))
		if err != nil {
			return err
		}
		if to == "" {
			return a.Printf("%s", text)
		}
		return a.writeNew(to, text)
	}
	return c
}

// writeNew writes a file that must not exist yet.
func (a *app) writeNew(name string, text []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return cli.Usage("%s: %v; give another file, or remove it", name, err)
	}
	_, err = file.Write(text)
	if err = fault.Both(err, file.Close()); err == nil {
		a.Note("written to %s; next: wirelab own check %s", name, name)
	}
	return err
}

func newOwnCheckCommand(a *app) *cobra.Command {
	var operations []string
	var asJSON *bool
	c := &cobra.Command{
		Use:   "check FILE[:WIRE]",
		Short: "Make each call of a description twice, and print the replies",
		Long:  desk.HelpText("own-check"),
		Example: `  wirelab own check shop.yaml
  wirelab own check shop.yaml:rest --operation list --json`,
		Args: cli.Arguments(1, 1, "the file of a description, such as shop.yaml"),
	}
	c.Flags().StringSliceVar(&operations, "operation", nil, "check only these `operations`")
	c.Flags().StringVar(&a.Services.MayLoad, "i-may-load", "",
		"the `host` of the service, if it is another machine and you may call it")
	asJSON = cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.checkOwn(c.Context(), args[0], operations, *asJSON)
	}
	return c
}

// checkOwn makes each call of a description.
func (a *app) checkOwn(ctx context.Context, arg string, operations []string, asJSON bool) error {
	file, only := arg, ""
	if at := strings.LastIndex(arg, ":"); at > 0 && services.Described(arg[:at]) {
		file, only = arg[:at], arg[at+1:]
	}
	if _, err := a.Services.MakePlan(ctx, plan.Plan{External: []plan.External{{File: file}}}); err != nil {
		return err
	}
	var all []services.Checked
	failed := 0
	for _, w := range a.Services.Made.Service.Wires {
		if only != "" && w.Name != only {
			continue
		}
		calls, err := a.Services.Check(ctx, w, operations)
		if err != nil {
			return err
		}
		for _, call := range calls {
			if call.Error != "" {
				failed++
			}
			all = append(all, call)
			if !asJSON {
				if err := a.Printf("%s", services.CheckedText(call, a.Columns())); err != nil {
					return err
				}
			}
		}
	}
	var err error
	if asJSON {
		err = a.PrintJSON(all)
	}
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return cli.Usage("%s has no such wire or operation", arg)
	case failed > 0:
		return cli.With(desk.ExitFailed,
			wirelab.Errorf(wirelab.Unavailable, "%d of %d calls were not answered as they should be", failed, len(all)))
	}
	return nil
}
