// Package calibration computes which differences a machine can detect, from an A/A test.
package calibration
