package desk

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
)

// ArmArguments checks the arguments of a command that takes arms, and its workload as --workload.
func (d *Desk) ArmArguments(what string) cobra.PositionalArgs {
	count := cli.Arguments(1, -1, what)
	return func(c *cobra.Command, args []string) error {
		for i, text := range args {
			name, _, _ := strings.Cut(text, ",")
			kind, work := d.WorkNamed(name)
			if kind == "" {
				continue
			}
			if given := c.Flags().Lookup("workload"); given != nil && given.Changed {
				return cli.Usage("%s is %s, not an arm; the work is already given, as --workload %s", name, kind,
					given.Value)
			}
			line := []string{c.CommandPath()}
			line = append(line, slices.Delete(slices.Clone(args), i, i+1)...)
			if len(args) == 1 {
				line = append(line, "ARM")
			}
			return cli.Usage("%s is %s, not an arm; write it as -w %s: %s -w %s", name, kind, work,
				strings.Join(line, " "), work)
		}
		return count(c, args)
	}
}

// ServeArguments checks that the arguments are a workload and a protocol, in this order.
func (d *Desk) ServeArguments(c *cobra.Command, args []string) error {
	workload, protocol := "", ""
	wrong := ""
	for i, name := range args {
		kind, work := d.WorkNamed(name)
		switch {
		case kind != "":
			workload, _, _ = strings.Cut(work, ".")
			if name != workload {
				wrong = name + " is " + kind + "; a server has all operations of its workload"
			}
		case d.Carrying(name) != "":
			protocol = name
			if i == 0 {
				wrong = name + " is a protocol; the workload comes before it"
			}
		}
	}
	if wrong == "" {
		return cli.Arguments(2, 2, "a workload and a protocol, such as routeguide grpc; wirelab matrix lists them")(c,
			args)
	}
	if workload == "" {
		workload = d.Carrying(protocol)
	}
	if protocol == "" {
		protocol = "PROTOCOL"
	}
	return cli.Usage("%s: %s %s %s", wrong, c.CommandPath(), workload, protocol)
}

// OperationArgument checks one argument that names an operation. what describes the argument. write says where to put
// a protocol that was given instead. For commands without --protocol, a single name may be that of a result.
func (d *Desk) OperationArgument(what string, write func(protocol string) string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		for _, name := range args {
			if d.Carrying(name) != "" && (len(args) > 1 || c.Flags().Lookup("protocol") != nil) {
				return cli.Usage("%s is a protocol, not an operation; %s", name, write(name))
			}
		}
		return cli.Arguments(1, 1, what)(c, args)
	}
}
