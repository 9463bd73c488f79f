package result

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

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
	return armOf(r, arm).Server
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
		target, is := r.TargetOf(arm), armOf(r, arm)
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

// whoElse says what to do about others' use of this machine's CPUs: a server at a target that
// is measured is not to be stopped.
func (r *Result) whoElse(otherwise string) string {
	if all := r.hidden(); len(all) > 0 {
		return "give the process of the server at " + strings.Join(all, ", ") + " with pid= beside target= (load: --pid), so that it is not taken for another; " + otherwise
	}
	return otherwise
}

// shares reports whether an arm's server may run on the driver's cores, since it was not put on others.
func (r *Result) shares(arm int) bool {
	p := armOf(r, arm).Process
	return r.TargetOf(arm) != "" && (armOf(r, arm).Here || p != nil) && (p == nil || len(p.CPUs) == 0)
}

// serverCPUs are those that an arm's server was put on; nil: it may run anywhere.
func (r *Result) serverCPUs(arm int) []int {
	if r.TargetOf(arm) == "" {
		return r.Placement.ServerCPUs
	}
	if p := armOf(r, arm).Process; p != nil {
		return p.CPUs
	}
	return nil
}

// reopened says what it may come from that an arm with a target opened connections while it was
// measured: servers close idle ones, and an arm is idle while the others have their turns.
func (s *subject) reopened() {
	opened := uint64(0)
	for _, t := range s.trials {
		opened += t.Connections
	}
	if opened == 0 || s.result.TargetOf(s.arm) == "" || s.manner.Renewed {
		return
	}
	s.state.Notes = append(s.state.Notes, fmt.Sprintf("%s connections were opened while measuring: a server that closes idle connections "+
		"(its keep-alive or idle timeout) must keep them longer than its arm waits for the next slice; 300 s are enough", Thousands(opened)))
}
