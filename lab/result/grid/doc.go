// Package grid arranges the trials of a result by load, arm and round.
package grid
