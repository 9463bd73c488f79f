// Package rank says which arm is first by what, where the entries of all arms were followed until they were
// stored.
package rank
