package relay

// Held returns how many bytes the rings of all ways could hold.
func Held(r *Relay) int64 { return r.memory.Load() }
