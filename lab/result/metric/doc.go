// Package metric is what is measured of each arm under each load: its name, its unit, which way is better,
// and how it is taken from a trial. It knows no other trial and no claim.
package metric
