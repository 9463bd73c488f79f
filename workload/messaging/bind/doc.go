// Package bind carries messaging over each protocol to a message broker. Package broker publishes and reads with
// each broker; this package makes one call of that.
package bind
