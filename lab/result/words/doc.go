// Package words writes numbers, shares and outcomes in the form that all checks and reports use. It knows nothing about
// results.
package words
