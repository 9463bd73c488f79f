// Package capacity is the highest rate at which an arm keeps an objective: how it is searched for, how each
// probe is judged, and what may be said of what was found.
package capacity
