// Package threshold are bounds that somebody made a decision depend on: how they are written, and what a
// result says of each.
package threshold
