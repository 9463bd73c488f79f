// Package history holds results of several runs against each other: replays of one experiment, and arms that
// were measured at different times.
package history
