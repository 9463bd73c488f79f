package control

import "time"

// A stage is where whoever started a message broker does to it what is asked, and
// tells what its processes use. It is a door of HTTP with JSON on the loopback, at a
// URL that nobody can guess:
//
//	POST URL/do   Fault -> Done   does it, and answers once all is as before
//	GET  URL/use       -> Use    what the broker's processes used so far

// Fault is what is to be done to a broker: one of [plan.Faults].
type Fault struct {
	What  string `json:"what"`
	Topic string `json:"topic"` // whose leader is meant
}

// Done is what was done.
type Done struct {
	Who   string    `json:"who"`
	Began time.Time `json:"began"`
	Over  time.Time `json:"over"` // when all was as before
	Error string    `json:"error,omitempty"`
}

// Use is what a broker's processes use, and used so far.
type Use struct {
	Written uint64 `json:"written"` // bytes to the device that holds their data, by anybody; 0: not known
	Network uint64 `json:"network"` // bytes over the network they share with the driver
	Memory  uint64 `json:"memory"`  // resident bytes now
	Disk    uint64 `json:"disk"`    // bytes in their directories now
}
