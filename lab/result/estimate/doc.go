// Package estimate computes a metric from the trials of one arm. It compares nothing, and applies no check.
package estimate
