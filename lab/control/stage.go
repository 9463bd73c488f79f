package control

import "time"

// A fault server makes faults in a message broker on request, and reports what the broker's processes use. The process
// that started the broker runs it. It speaks HTTP with JSON on the loopback interface, at a URL that cannot be guessed:
//
//	POST URL/do   Fault -> Done   does it, and replies once the broker is as before
//	GET  URL/use       -> Use    what the broker's processes used so far

// Fault is a fault to make in a broker: one of [plan.Faults].
type Fault struct {
	What  string `json:"what"`
	Topic string `json:"topic"` // the fault affects this topic's leader
}

// Done is the result of a fault.
type Done struct {
	Who   string    `json:"who"`
	Began time.Time `json:"began"`
	Over  time.Time `json:"over"` // when the broker was as before
	Error string    `json:"error,omitempty"`
}

// Use is what the processes of a broker use now, and have used so far.
type Use struct {
	Written uint64 `json:"written"` // bytes to the device that holds their data, by any process; 0: unknown
	Network uint64 `json:"network"` // bytes over the network that they share with the driver
	Memory  uint64 `json:"memory"`  // resident bytes now
	Disk    uint64 `json:"disk"`    // bytes in their directories now
}
