// Package progress shows a person the progress of a preparation or a measurement. It knows texts and times, and must
// not know where they are shown.
package progress

import "time"

// Teller reports progress.
type Teller interface {
	// Note writes a line that stays.
	Note(format string, args ...any)
	// Doing says what is being done until done is called.
	Doing(what string) (done func())
	// Waiting says what is being waited for, and for how long at most, until done is called.
	Waiting(what string, most time.Duration) (done func())
}
