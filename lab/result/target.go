package result

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// ArmOf returns the description of an arm; an empty one if the result has none.
func ArmOf(r *Result, arm int) Arm {
	if arm < len(r.Arms) {
		return r.Arms[arm]
	}
	return Arm{}
}

// ArmName is the name of an arm: from its description, or from the plan, or its number from 1.
func (r *Result) ArmName(arm int) string {
	switch {
	case arm >= 0 && arm < len(r.Arms) && r.Arms[arm].Name != "":
		return r.Arms[arm].Name
	case arm >= 0 && arm < len(r.Plan.Arms) && r.Plan.Arms[arm].Name != "":
		return r.Plan.Arms[arm].Name
	case arm >= 0 && arm < len(r.Plan.Arms) && r.Plan.Arms[arm].Protocol != "":
		return r.Plan.Arms[arm].String()
	}
	return fmt.Sprintf("arm %d", arm+1)
}

// ClientName is the library that calls in an arm; "the client" if it is unknown.
func (r *Result) ClientName(arm int) string {
	if arm >= 0 && arm < len(r.Arms) && r.Arms[arm].Client != "" {
		return r.Arms[arm].Client
	}
	return "the client"
}

// Out says why an arm was removed; "" if it was not.
func (r *Result) Out(arm int) string {
	if arm < len(r.Arms) {
		return r.Arms[arm].Out
	}
	return ""
}

// Arm is the description of an arm; nil if the result has none.
func (r *Result) Arm(i int) *Arm {
	if i < 0 || i >= len(r.Arms) {
		return nil
	}
	return &r.Arms[i]
}

// TargetOf is the address of an arm's server if wirelab did not start it; otherwise "".
func (r *Result) TargetOf(arm int) string {
	if arm < 0 || arm >= len(r.Plan.Arms) {
		return ""
	}
	return r.Plan.Arms[arm].Target
}

// ServerOf is the library that serves an arm; "" if it is unknown. For a target it is what the plan says, even in
// older results, which name our own library there.
func (r *Result) ServerOf(arm int) string {
	if r.TargetOf(arm) != "" {
		return r.Plan.Arms[arm].Server
	}
	return ArmOf(r, arm).Server
}

// ServedBy is [Result.ServerOf] for a sentence. For a target it says if the library is unknown.
func (r *Result) ServedBy(arm int) string {
	server := r.ServerOf(arm)
	if target := r.TargetOf(arm); server == "" && target != "" {
		return "unknown, at " + target
	}
	return server
}

// hidden returns the targets on the machine of the experiment whose processes are unknown. What they use counts as
// other processes' use.
func (r *Result) hidden() (addresses []string) {
	for arm := range r.Plan.Arms {
		target, is := r.TargetOf(arm), ArmOf(r, arm)
		if target != "" && is.Process == nil && (is.Here || loopback(target)) {
			addresses = append(addresses, target)
		}
	}
	return addresses
}

// loopback reports whether an address is written as one of the machine itself.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// WhoElse says what to do about CPU use of other processes on this machine. A server at a target that is measured
// must not be stopped.
func (r *Result) WhoElse(otherwise string) string {
	if all := r.hidden(); len(all) > 0 {
		return "give the process of the server at " + strings.Join(all, ", ") +
			" with pid= next to target= (load: --pid), so that it does not count as another process; " + otherwise
	}
	return otherwise
}

// Shares reports whether an arm's server may run on the driver's cores, because it was not pinned to others.
func (r *Result) Shares(arm int) bool {
	p := ArmOf(r, arm).Process
	return r.TargetOf(arm) != "" && (ArmOf(r, arm).Here || p != nil) && (p == nil || len(p.CPUs) == 0)
}

// ServerCPUs are the CPUs that an arm's server was pinned to; nil: it may run anywhere.
func (r *Result) ServerCPUs(arm int) []int {
	if r.TargetOf(arm) == "" {
		return r.Placement.ServerCPUs
	}
	if p := ArmOf(r, arm).Process; p != nil {
		return p.CPUs
	}
	return nil
}
