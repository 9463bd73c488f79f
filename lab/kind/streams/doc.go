// Package streams is the kind of load that holds streams open.
package streams
