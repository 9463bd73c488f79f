package experiment

import (
	"slices"

	"wirelab/lab/control"
	"wirelab/lab/plan"
)

// tls returns how to connect to an arm's target; nil for a server that is started here, whose certificate is issued for
// this run.
func (c *Runner) tls(arm plan.Arm) *control.TLS {
	if arm.Target == "" {
		return nil
	}
	return c.TLS
}

// trusted returns the CA certificates for an arm's target; "": the system's.
func (c *Runner) trusted(arm plan.Arm) string {
	if arm.Target == "" {
		return ""
	}
	return c.Trusted
}

// met stores which addresses of an arm's target its driver reached. Through a relay it reaches only the relay.
func (w *round) met(a *armRun, reply control.Reply) {
	if a.relay != nil {
		return
	}
	arm := &w.result.Arms[a.index]
	for _, at := range reply.Met {
		if i, found := slices.BinarySearch(arm.Addresses, at); !found && len(arm.Addresses) < control.MetMost {
			arm.Addresses = slices.Insert(arm.Addresses, i, at)
		}
	}
}
