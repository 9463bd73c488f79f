// Package effect estimates a metric of an arm, compares it with the first arm's over paired rounds, and
// judges the difference. It applies no checks: it is told what they refused.
package effect
