// Package progress is how a person is told what is done while something is prepared or measured. It knows words and
// times, and must not know where they are shown.
package progress

import "time"

// Teller tells a person.
type Teller interface {
	// Note tells a line that stays.
	Note(format string, args ...any)
	// Doing tells what is done until done is called.
	Doing(what string) (done func())
	// Waiting tells what is waited for, at most so long, until done is called.
	Waiting(what string, most time.Duration) (done func())
}
