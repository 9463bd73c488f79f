// Package calibration is what a machine can tell apart, from a comparison of a thing with itself.
package calibration
