package plan

import (
	"fmt"
	"time"

	"wirelab"
	"wirelab/lab/network"
)

// By default, slices and warm-ups are longer if calls wait for a network: a slice has ten round trips, and each of
// the 20 windows of a warm-up two.
const (
	tripsSlice  = 10
	tripsWarmUp = 40
	// tripsLeast is how many round trips a slice and a deadline must allow.
	tripsLeast = 2
	// slowTrip is the round trip above which slices are few and long, as in the open loop.
	slowTrip = Duration(10 * time.Millisecond)
)

// Path is the plan's network, and whether it has one. The error is that of [network.Parse]; a complete plan has no
// error.
func (p Plan) Path() (network.Spec, bool, error) {
	if p.Network == "" {
		return network.Spec{}, false, nil
	}
	path, err := network.Parse(p.Network)
	return path, err == nil, err
}

// trip is the longest intended round trip on the plan's network.
func (p Plan) trip() Duration {
	path, _, err := p.Path()
	if err != nil {
		return 0 // checkNetwork reports it
	}
	return Duration(path.RTT + path.Jitter)
}

// checkNetwork checks the field network.
func (p Plan) checkNetwork() error {
	path, _, err := p.Path()
	if err != nil {
		return err // it already names the network and the problem
	}
	if path.Via == network.Netem && p.remote() {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"network %q connects two network namespaces, and an arm's target cannot be put into one; leave "+
				"via=netem out", p.Network)
	}
	return nil
}

// checkTrips checks that slices and deadlines allow round trips on the network.
func (p Plan) checkTrips() error {
	least := tripsLeast * p.trip()
	if least == 0 {
		return nil
	}
	for _, l := range p.Loads {
		if p.SliceOf(l) < least {
			return bad("slice", p.SliceOf(l),
				fmt.Sprintf("at least %v on a network whose round trips take up to %v", least, p.trip()))
		}
	}
	if p.Deadline < least {
		return bad("deadline", p.Deadline,
			fmt.Sprintf("at least %v on a network whose round trips take up to %v", least, p.trip()))
	}
	return nil
}
