package result

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// ArmOf returns the description of an arm; an empty one where the result has none.
func ArmOf(r *Result, arm int) Arm {
	if arm < len(r.Arms) {
		return r.Arms[arm]
	}
	return Arm{}
}

// ArmName is how an arm is called: what it turned out to be, or what the
// plan says, or its number from 1.
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

// ClientName is the library that calls in an arm; "the client" where it is not known.
func (r *Result) ClientName(arm int) string {
	if arm >= 0 && arm < len(r.Arms) && r.Arms[arm].Client != "" {
		return r.Arms[arm].Client
	}
	return "the client"
}

// Out tells why an arm was taken out; "" if it was not.
func (r *Result) Out(arm int) string {
	if arm < len(r.Arms) {
		return r.Arms[arm].Out
	}
	return ""
}

// Arm is what an arm turned out to be; nil where the result does not tell.
func (r *Result) Arm(i int) *Arm {
	if i < 0 || i >= len(r.Arms) {
		return nil
	}
	return &r.Arms[i]
}

// TargetOf is the address of an arm's server, where somebody else runs it; else "".
func (r *Result) TargetOf(arm int) string {
	if arm < 0 || arm >= len(r.Plan.Arms) {
		return ""
	}
	return r.Plan.Arms[arm].Target
}

// ServerOf is the library that serves an arm; "" where nobody knows. What serves at a target
// is what the plan says, in older results too, which name our own library there.
func (r *Result) ServerOf(arm int) string {
	if r.TargetOf(arm) != "" {
		return r.Plan.Arms[arm].Server
	}
	return ArmOf(r, arm).Server
}

// ServedBy is [Result.ServerOf] in words, which say of a target that nobody knows it.
func (r *Result) ServedBy(arm int) string {
	server := r.ServerOf(arm)
	if target := r.TargetOf(arm); server == "" && target != "" {
		return "unknown, at " + target
	}
	return server
}

// hidden are the targets on the machine that the experiment ran on whose processes nobody
// knows: what they use counts as others'.
func (r *Result) hidden() (addresses []string) {
	for arm := range r.Plan.Arms {
		target, is := r.TargetOf(arm), ArmOf(r, arm)
		if target != "" && is.Process == nil && (is.Here || loopback(target)) {
			addresses = append(addresses, target)
		}
	}
	return addresses
}

// loopback reports whether an address is of the machine itself by how it is written.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// WhoElse says what to do about others' use of this machine's CPUs: a server at a target that
// is measured is not to be stopped.
func (r *Result) WhoElse(otherwise string) string {
	if all := r.hidden(); len(all) > 0 {
		return "give the process of the server at " + strings.Join(all, ", ") +
			" with pid= beside target= (load: --pid), so that it is not taken for another; " + otherwise
	}
	return otherwise
}

// Shares reports whether an arm's server may run on the driver's cores, since it was not put on others.
func (r *Result) Shares(arm int) bool {
	p := ArmOf(r, arm).Process
	return r.TargetOf(arm) != "" && (ArmOf(r, arm).Here || p != nil) && (p == nil || len(p.CPUs) == 0)
}

// ServerCPUs are those that an arm's server was put on; nil: it may run anywhere.
func (r *Result) ServerCPUs(arm int) []int {
	if r.TargetOf(arm) == "" {
		return r.Placement.ServerCPUs
	}
	if p := ArmOf(r, arm).Process; p != nil {
		return p.CPUs
	}
	return nil
}
