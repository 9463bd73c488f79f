// Package kind is what a kind of load is: one value, which states what is measured of it, how it is checked,
// and how it is called. Package kinds lists them.
package kind
