// Package claim is the form of what may be said of a result: estimates, differences, verdicts, checks and how
// arms did. It holds no arithmetic that makes them: that is in the packages that fill it.
package claim
