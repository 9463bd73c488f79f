// Package analyse computes everything that may be said about a result. It is pure: the same result gives the same
// analysis everywhere.
package analyse
