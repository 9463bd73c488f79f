package result

import (
	"slices"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Host is a machine that servers or drivers of an experiment ran on, where that was not the runner's own. Its clock was
// read before the first round.
type Host struct {
	Name        string      `json:"name"`
	Roles       []string    `json:"roles"`   // "server", "driver"
	Address     string      `json:"address"` // where its servers listen
	Environment Environment `json:"environment"`
	// RoundTrip is the fastest to the runner and back, Offset the host's clock minus the runner's, known to
	// ± Uncertainty.
	RoundTrip   plan.Duration `json:"round_trip"`
	Offset      plan.Duration `json:"offset"`
	Uncertainty plan.Duration `json:"uncertainty"`
	Findings    []string      `json:"findings,omitempty"` // what makes it a bad place to measure on
}

// DriverShare is what one of several drivers measured of a trial, on its host.
type DriverShare struct {
	Host string `json:"host"`
	// Began is the furthest that one of its slices began from the moment that was planned, by the runner's clock;
	// RoundTrip, Offset and Uncertainty are those of the last reading of its clock.
	Began       plan.Duration `json:"began"`
	RoundTrip   plan.Duration `json:"round_trip"`
	Offset      plan.Duration `json:"offset"`
	Uncertainty plan.Duration `json:"uncertainty"`

	Planned uint64 `json:"planned,omitempty"`
	Sent    uint64 `json:"sent"`
	OK      uint64 `json:"ok"`
	Late    uint64 `json:"late,omitempty"`
	Unsent  uint64 `json:"unsent,omitempty"`
	Usage   Usage  `json:"usage"`
	// The times of its calls, as [Trial] has them of all.
	Response *stat.Histogram `json:"response"`
	Service  *stat.Histogram `json:"service"`
	Lag      *stat.Histogram `json:"lag"`
	Wake     *stat.Histogram `json:"wake,omitempty"`
}

// host returns the host of a name.
func (r *Result) host(name string) (Host, bool) {
	for _, h := range r.Hosts {
		if h.Name == name {
			return h, true
		}
	}
	return Host{}, false
}

// HostCores is how many cores a host has; 0 where it is not known.
func (r *Result) HostCores(name string) int {
	h, _ := r.host(name)
	return h.Environment.CPUs
}

// The roles of a host.
const (
	RoleServer = "server"
	RoleDriver = "driver"
)

// FewestCores is how many cores the smallest host of a role has; 0 where nothing ran on hosts.
func (r *Result) FewestCores(role string) (fewest int) {
	for _, h := range r.Hosts {
		if slices.Contains(h.Roles, role) && (fewest == 0 || h.Environment.CPUs < fewest) {
			fewest = h.Environment.CPUs
		}
	}
	return fewest
}
