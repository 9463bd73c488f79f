package result

// Told has the data on calls that another program made instead of the driver: how many were answered, by its
// own report, and what its processes used. The individual times and the bytes are unknown, and replies were not
// checked. So a trial with Told has no times and no bytes; they are not 0.
type Told struct {
	Tool string `json:"tool"` // "wrk"
	// Direct reports that it called a database directly, so there was no server.
	Direct bool `json:"direct,omitempty"`
}
