package relay

// Held is how many bytes the ways' rings could hold.
func Held(r *Relay) int64 { return r.memory.Load() }
