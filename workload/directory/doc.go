// Package directory is the work of a person directory.
package directory
