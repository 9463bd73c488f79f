// Package grid puts the trials of a result into their places: by load, arm and round.
package grid
