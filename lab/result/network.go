package result

import (
	"wirelab/lab/plan"
)

// Network is the path between driver and server, where an experiment made one.
type Network struct {
	// Spec is the path as room network writes it, Name that of a preset equal
	// to it, "" if none is, and Via how it was made: "relay" or "netem".
	Spec string `json:"spec"`
	Name string `json:"name,omitempty"`
	Via  string `json:"via"`
	// Notes say in sentences what of the path is a model, and what a real one
	// does that this does not.
	Notes []string `json:"notes"`
	// Floors are what the relay adds by itself; none of netem.
	Floors []RelayFloor `json:"floors,omitempty"`
}

// RelayFloor is what a relay adds to round trips of one small message on an
// open connection, measured before the first round. All times are in ns.
type RelayFloor struct {
	Transport string `json:"transport"` // "TCP" or "UDP"
	Trips     int    `json:"trips"`     // of each kind
	// DirectP50 and DirectP99 are of trips without a relay.
	DirectP50 int64 `json:"direct_p50"`
	DirectP99 int64 `json:"direct_p99"`
	// P50 and P99 are what a relay that is told to add nothing adds to those:
	// quantile minus quantile.
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	// Asked is the round trip that a second relay was told to make, and
	// BeyondP50 and BeyondP99 what it added over it; 0 where the network has none.
	Asked     plan.Duration `json:"asked,omitempty"`
	BeyondP50 int64         `json:"beyond_p50,omitempty"`
	BeyondP99 int64         `json:"beyond_p99,omitempty"`
}

// Relayed is what the relay of an arm did during the trial's slices.
type Relayed struct {
	CPU plan.Duration `json:"cpu"` // its process's
	// Forwarded and Dropped are packets (TCP: segments as the model counts
	// them), both ways; Dropped is by loss and full buffers, and for TCP
	// the segments that had to be sent again.
	Forwarded uint64 `json:"forwarded"`
	Dropped   uint64 `json:"dropped"`
	// LateP50 and LateP99 are by how much it was late to pass packets on, in
	// ns: of the slice that was worst.
	LateP50 int64 `json:"late_p50"`
	LateP99 int64 `json:"late_p99"`
}
