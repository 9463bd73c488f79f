package fleet

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/doctor"
	"wirelab/lab/experiment"
	"wirelab/lab/hosts"
	"wirelab/lab/load"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Host makes the command that offers this machine to experiments.
func Host(d *desk.Desk) *cobra.Command {
	var f access
	var name, address string
	var roles []string
	c := &cobra.Command{
		Use:     "host --join URL",
		Short:   "Offer this machine to experiments until Ctrl-C",
		Long:    desk.HelpText("host"),
		Example: desk.HelpText("host.examples"),
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	f.register(c.Flags(), "join", "`URL` of NATS: nats://HOST:PORT, or tls://HOST:PORT (required)")
	c.Flags().StringVar(&name, "name", "", "`name` of this host (default: the machine's)")
	c.Flags().StringSliceVar(&roles, "role", []string{"server", "driver"}, "what it may be used for: `roles`")
	c.Flags().StringVar(&address, "address", "127.0.0.1", "`address` at which its servers listen, for drivers to call")
	if err := c.MarkFlagRequired("join"); err != nil {
		panic(err) // the flag is defined above
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		host, err := machine(c.Context(), name, address, roles)
		if err != nil {
			return err
		}
		nc, err := f.connect(c.Context(), d, "wirelab host "+host.Info.Name, true)
		if err != nil {
			return err
		}
		defer nc.Close()
		host.Tell = func(text string) { d.Note("%s", text) }
		d.Note("host %s joined at %s as %s; stop with Ctrl-C", host.Info.Name, f.url, strings.Join(roles, ", "))
		d.Idle(c.Context(), "stopping what runs here")
		return host.Run(c.Context(), nc)
	}
	return c
}

// watchTime is how long the machine is watched before it joins.
const watchTime = time.Second

// machine is this machine as a host.
func machine(ctx context.Context, name, address string, roles []string) (*hosts.Host, error) {
	if name == "" {
		full, err := os.Hostname()
		if err != nil {
			return nil, err
		}
		name, _, _ = strings.Cut(strings.ToLower(full), ".")
	}
	if err := hosts.CheckName(name); err != nil {
		return nil, cli.Usage("--name: %s", desk.Describe(err))
	}
	info := hosts.Info{Name: name, Address: address, Machine: hosts.Machine(), Environment: probe.Environment()}
	for _, r := range roles {
		switch r := hosts.Role(r); r {
		case hosts.Server, hosts.Driver:
			info.Roles = append(info.Roles, r)
		default:
			return nil, cli.Usage("--role %s: want server, driver or both", r)
		}
	}
	var err error
	if info.Build, err = ThisBuild(); err != nil {
		return nil, err
	}
	root := os.DirFS("/")
	watched, err := probe.Watch(ctx, root, load.SystemClock{}, load.SpinMargin, watchTime)
	if err != nil {
		return nil, err
	}
	for _, f := range doctor.Examine(probe.ReadMachine(root), watched, result.Placement{}).Findings {
		if f.Level == doctor.Bad {
			info.Findings = append(info.Findings, f.Name+": "+f.Value+". "+f.Why)
		}
	}
	program, err := experiment.Program()
	return &hosts.Host{Info: info, Program: program, Noise: probe.ReadCPUTimes}, err
}
