// Package analyse says all that may be said of a result. It is pure: the same result gives the same analysis
// everywhere.
package analyse
