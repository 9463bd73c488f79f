// Package effect estimates a metric of an arm, compares it with the first arm's over paired rounds, and judges the
// difference. It applies no checks; it uses the results of the checks in the arms' states.
package effect
