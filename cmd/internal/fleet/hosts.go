package fleet

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/hosts"
)

// listed is a host in the list, with its clock.
type listed struct {
	hosts.Info
	Offset      time.Duration `json:"clock_offset_ns"`
	Uncertainty time.Duration `json:"clock_uncertainty_ns"`
	RoundTrip   time.Duration `json:"round_trip_ns"`
	Problem     string        `json:"problem,omitempty"` // why it cannot be used
}

// Hosts makes the command that lists who joined.
func Hosts(d *desk.Desk) *cobra.Command {
	var f access
	c := &cobra.Command{
		Use:     "hosts --hosts URL",
		Short:   "List the machines that joined, their clocks and their problems",
		Long:    desk.HelpText("hosts"),
		Example: desk.HelpText("hosts.examples"),
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	f.register(c.Flags(), "hosts", "`URL` of NATS where they joined")
	var listen string
	c.Flags().StringVar(&listen, "listen", "", "run NATS for them at `HOST:PORT` until Ctrl-C, instead of listing")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case (f.url == "") == (listen == ""):
			return cli.Usage("give --hosts URL to list who joined, or --listen HOST:PORT to run NATS for them")
		case listen != "":
			return f.listen(c.Context(), d, listen)
		}
		nc, err := f.connect(c.Context(), d, "wirelab hosts", false)
		if err != nil {
			return err
		}
		defer nc.Close()
		build, err := ThisBuild()
		if err != nil {
			return err
		}
		fleet := hosts.NewFleet(nc, build)
		infos, err := fleet.List(c.Context())
		if err != nil {
			return err
		}
		all := make([]listed, 0, len(infos))
		for _, info := range infos {
			one := listed{Info: info}
			clock, err := fleet.Clock(c.Context(), info.Name, 64)
			switch {
			case err != nil:
				one.Problem = desk.Describe(err)
			case !info.Build.Same(build):
				one.Problem = "runs another wirelab: " + info.Build.Version
			}
			one.Offset, one.Uncertainty, one.RoundTrip = clock.Offset, clock.Uncertainty, clock.RoundTrip
			all = append(all, one)
		}
		if *asJSON {
			return d.PrintJSON(all)
		}
		return list(d, f.url, all)
	}
	return c
}

// list prints hosts as a table, and their problems below it.
func list(d *desk.Desk, url string, all []listed) error {
	if len(all) == 0 {
		return d.Printf("No host joined at %s. On each machine run: wirelab host --join %s\n", url, url)
	}
	rows := [][]string{{"host", "roles", "cores", "at", "round trip", "clock"}}
	var wrong []string
	for _, h := range all {
		var roles []string
		for _, r := range h.Roles {
			roles = append(roles, string(r))
		}
		rows = append(rows, []string{
			h.Name, strings.Join(roles, ", "), fmt.Sprint(h.Environment.CPUs), h.Address, brief(h.RoundTrip),
			fmt.Sprintf("%s ± %s", brief(h.Offset), brief(h.Uncertainty)),
		})
		if h.Problem != "" {
			wrong = append(wrong, h.Name+": "+h.Problem)
		}
		for _, f := range h.Findings {
			wrong = append(wrong, h.Name+": "+f)
		}
	}
	if err := d.PrintTable(rows); err != nil {
		return err
	}
	for _, w := range wrong {
		if err := d.Printf("%s\n", w); err != nil {
			return err
		}
	}
	return nil
}

// brief is a time with three digits at most.
func brief(t time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if t.Abs() >= unit {
			return t.Round(unit / 100).String()
		}
	}
	return t.String()
}
