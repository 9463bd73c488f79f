// Package words writes numbers, shares and outcomes the way that every check and report does. It knows
// nothing of results.
package words
