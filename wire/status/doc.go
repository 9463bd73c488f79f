// Package status is what every wire carries when a call fails: a [Code] of a
// closed set and a message, as one [Error], and the [Cause], for people, where
// no answer came.
//
// It knows no wire, no workload and no measurement, so that a program that is
// measured, such as Hermes, needs nothing of the lab to speak as the lab does.
// How a code is spelled on a wire is that wire's to say.
package status
