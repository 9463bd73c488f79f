// Package descriptors divides the files that a process may have open: a part is held back for the
// log, so that connections cannot use it up. It knows the limit of the process, and neither log nor listener.
package descriptors

// reserveMost is what the log is sure of where the limit is not low: descriptors.
const reserveMost = 256

// Reserve is how many of limit descriptors no connection may use: 256, or a quarter of a low limit.
func Reserve(limit int) int { return min(reserveMost, limit/4) }

// Room is how many connections all listeners together may have under a limit of so many descriptors.
func Room(limit int) int { return max(limit-Reserve(limit), 0) }
