// Package descriptors divides the files that a process may have open: a part is held back for the
// log, so that connections cannot use it up. It knows the limit of the process, and neither log nor listener.
package descriptors

// logMost is what the log has to read where the limit is not low: descriptors.
const logMost = 256

// Other counts descriptors of neither a connection that Room counts nor a file that the log reads: what the log
// writes, the listeners, what the runtime polls with.
const Other = 64

// Log is how many files the log may have open to be read under a limit of so many descriptors, where none is
// given otherwise: 256, or a quarter of a low limit.
func Log(limit int) int { return min(logMost, limit/4) }

// Room is how many connections all listeners together may have under a limit of so many descriptors, of which the
// log has some to read.
func Room(limit, log int) int { return max(limit-log-Other, 0) }
