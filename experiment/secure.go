package experiment

import (
	"wirelab/control"
	"wirelab/plan"
)

// tls is how an arm's target is reached; nil of a server that is started here, whose
// certificate is of this run.
func (c *Conductor) tls(arm plan.Arm) *control.TLS {
	if arm.Target == "" {
		return nil
	}
	return c.TLS
}

// trusted are the authorities that an arm's target must be of; "": the system's.
func (c *Conductor) trusted(arm plan.Arm) string {
	if arm.Target == "" {
		return ""
	}
	return c.Trusted
}
