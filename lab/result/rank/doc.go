// Package rank decides which arm is first by which metric, if the entries of all arms were tracked until they were
// stored.
package rank
