package report

import (
	"fmt"
	"strings"
	"time"

	"wirelab/lab/result"
)

// Network describes in one line the path between driver and server: its settings, which parts of it are a model, and
// what the relay that made it adds and uses. It returns "" without a network.
func Network(r *result.Result) string {
	n := r.Network
	if n == nil {
		return ""
	}
	text := n.Spec
	if n.Name != "" {
		text = n.Name + " (" + n.Spec + ")"
	}
	if n.Via != "relay" {
		return text + ", by the kernel's " + n.Via
	}
	parts := []string{text + ", by a relay" + relayPlace(r)}
	parts = append(parts, modelled(r)...)
	for _, f := range n.Floors {
		floor := fmt.Sprintf("it adds %s to a %s round trip by itself (p99 %s)", nanoseconds(f.P50), f.Transport,
			nanoseconds(f.P99))
		if f.Asked > 0 {
			floor += fmt.Sprintf(", and to one that is to take %s, %s (p99 %s)", Duration(time.Duration(f.Asked)),
				nanoseconds(f.BeyondP50), nanoseconds(f.BeyondP99))
		}
		parts = append(parts, floor)
	}
	return strings.Join(append(parts, filled(relayWork(r))...), "; ")
}

// nanoseconds writes a difference of times, which may be negative.
func nanoseconds(ns int64) string {
	if ns < 0 {
		return "−" + Duration(time.Duration(-ns))
	}
	return Duration(time.Duration(ns))
}

// relayPlace says where relays ran.
func relayPlace(r *result.Result) string {
	at := numbers(r.Placement.RelayCPUs)
	switch {
	case len(r.Placement.RelayCPUs) == 0:
		return ""
	case at == numbers(r.Placement.DriverCPUs):
		return " on the driver's CPU"
	}
	return " on CPU " + at
}

// modelled says which effects of a path are calculated rather than produced.
func modelled(r *result.Result) []string {
	streams := len(r.Arms) == 0
	for _, a := range r.Arms {
		streams = streams || !a.Datagrams
	}
	switch {
	case !streams || !strings.Contains(r.Network.Spec, "loss=") && strings.HasPrefix(r.Network.Spec, "rtt=0s"):
		return nil
	case strings.Contains(r.Network.Spec, "loss="):
		return []string{"loss on TCP is a model: the delay that sending again costs; its windows and handshakes " +
			"are too"}
	}
	return []string{"TCP's windows and handshakes are a model"}
}

// relayWork gives the CPU time that relays used per call, from the lowest to the highest of all arms and loads, and
// their worst lateness.
func relayWork(r *result.Result) string {
	type key struct{ arm, load int }
	cpu, calls := map[key]float64{}, map[key]float64{}
	late50, late99 := int64(0), int64(0)
	for _, round := range r.Rounds {
		for i := range round.Trials {
			t := &round.Trials[i]
			if t.Relay == nil || t.Calls() == 0 {
				continue
			}
			k := key{t.Arm, t.Load}
			cpu[k] += float64(t.Relay.CPU)
			calls[k] += float64(t.Calls())
			late50, late99 = max(late50, t.Relay.LateP50), max(late99, t.Relay.LateP99)
		}
	}
	least, most := 0.0, 0.0
	for k, total := range cpu {
		each := total / calls[k]
		if least == 0 || each < least {
			least = each
		}
		most = max(most, each)
	}
	if len(cpu) == 0 {
		return ""
	}
	used := Duration(time.Duration(least))
	if top := Duration(time.Duration(most)); top != used {
		used += " to " + top
	}
	return fmt.Sprintf("it used %s of CPU a call, neither server's nor driver's, and in its worst slice passed "+
		"packets on %s late (p99 %s)",
		used, nanoseconds(late50), nanoseconds(late99))
}
