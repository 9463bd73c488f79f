// Package bind carries messaging over each message broker. Package broker publishes and
// reads messages with each broker; this package turns that into single calls.
package bind
