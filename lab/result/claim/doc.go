// Package claim has the types for what may be said about a result: estimates, differences, verdicts, checks and the
// states of arms. The packages that fill them compute the values.
package claim
