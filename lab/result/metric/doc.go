// Package metric describes the measurements of each arm under each load: the metric's name and unit, which direction
// is better, and how it is computed from a trial. It knows no other trial and no claim.
package metric
