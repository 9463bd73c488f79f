// Package history compares results of several runs: replays of an experiment, and arms that were measured at
// different times.
package history
