package prepare

import (
	"strings"

	"wirelab"
	"wirelab/lab/plan"
)

// Driven adds arms to a plan, each with a driver: the given one, or else raw if it can call the arm. said tells which
// drivers were chosen.
func Driven(l *Lab, p plan.Plan, arms []string, driver string) (with plan.Plan, said string, err error) {
	var raw, client []string
	for _, text := range arms {
		arm, err := plan.ParseArm(text)
		if err != nil {
			return p, "", err
		}
		if arm.Tool() != "" {
			return p, "", wirelab.Errorf(wirelab.InvalidArgument,
				"arm %s: another load generator can only be used with wirelab compare", text)
		}
		if arm.Driver == "" {
			if arm.Name == "" && driver == "" {
				arm.Name = text // as it was typed; the chosen driver is reported once for all
			}
			switch {
			case driver != "":
				arm.Driver = driver
			case l.RawFor(p, arm):
				arm.Driver = plan.DriverRaw
				raw = append(raw, text)
			default:
				client = append(client, text)
			}
		}
		if len(p.External) > 0 {
			arm = l.Services.Reached(arm)
		}
		p.Arms = append(p.Arms, arm)
	}
	if len(raw) > 0 {
		said = "raw for " + strings.Join(raw, ", ")
	}
	if len(client) > 0 {
		said = strings.TrimPrefix(said+"; the client library, which falls behind at high rates, for "+strings.Join(client,
			", "), "; ")
	}
	return p, said, nil
}
