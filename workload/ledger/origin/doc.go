// Package origin holds the recorded requests of the programs of the published ledger, byte for byte, and the
// replies that its own servers gave them. Its tests replay them against our servers, so that statements about
// existing clients do not depend on clients of our own. It knows the servers only by their bindings, and the
// programs only by their traffic.
//
// The published servers were recorded with our data in their database. Their times are truncated to the second. Our
// events have more fields, after the published ones, and our stream of events has a last event, which the published
// client does not take for a transaction.
package origin
