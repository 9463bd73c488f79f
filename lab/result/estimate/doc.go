// Package estimate takes a metric from the trials of one arm. It compares nothing, and asks no check.
package estimate
