// Package explain computes what the factors that distinguish arms cost: alone, together, and on the way from one arm
// to another.
package explain
