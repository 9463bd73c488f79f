package result

import (
	"wirelab/lab/plan"
)

// Network is the path between driver and server, if the experiment emulated one.
type Network struct {
	// Spec is the path in the form of package network. Name is that of an equal preset, or "". Via is how it was
	// emulated: "relay" or "netem".
	Spec string `json:"spec"`
	Name string `json:"name,omitempty"`
	Via  string `json:"via"`
	// Notes are sentences on what in the path is a model, and what a real network does in addition.
	Notes []string `json:"notes"`
	// Floors are what the relay itself adds; none for netem.
	Floors []RelayFloor `json:"floors,omitempty"`
}

// RelayFloor is what a relay adds to round trips of a small message on an open connection, measured before the first
// round. All times are in ns.
type RelayFloor struct {
	Transport string `json:"transport"` // "TCP" or "UDP"
	Trips     int    `json:"trips"`     // of each kind
	// DirectP50 and DirectP99 are for round trips without a relay.
	DirectP50 int64 `json:"direct_p50"`
	DirectP99 int64 `json:"direct_p99"`
	// P50 and P99 are what a relay with zero delay adds to those: quantile minus quantile.
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	// Asked is the round trip time set in a second relay. BeyondP50 and BeyondP99 are what it added beyond that; 0 if
	// the network has no delay.
	Asked     plan.Duration `json:"asked,omitempty"`
	BeyondP50 int64         `json:"beyond_p50,omitempty"`
	BeyondP99 int64         `json:"beyond_p99,omitempty"`
}

// Relayed is what an arm's relay did during the trial's slices.
type Relayed struct {
	CPU plan.Duration `json:"cpu"` // of its process
	// Forwarded and Dropped are packets in both directions. For TCP they are segments as the model counts them.
	// Dropped are those lost or discarded because of full buffers; for TCP, segments that had to be sent again.
	Forwarded uint64 `json:"forwarded"`
	Dropped   uint64 `json:"dropped"`
	// LateP50 and LateP99 are the delays of the relay in passing packets on, in ns, in the worst slice.
	LateP50 int64 `json:"late_p50"`
	LateP99 int64 `json:"late_p99"`
}
