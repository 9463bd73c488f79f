package result

// Told is what is known of calls that another program made in the driver's place: how many were answered, by its own
// report, and what its processes used. Their times are not known one by one, nor their bytes, and their replies were
// not checked; so a trial with it has no times and no bytes, and they are not 0.
type Told struct {
	Tool string `json:"tool"` // "wrk"
	// Direct is that it asked a database itself, so that there was no server.
	Direct bool `json:"direct,omitempty"`
}
