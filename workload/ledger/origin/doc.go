// Package origin is what the programs of the published ledger send, byte for
// byte as they were recorded from them, and the replies that its own servers
// gave them. Its tests replay that against our servers, so that what is said of
// existing clients does not rest on clients of our own. It knows the servers by
// their bindings alone, and has nothing of the programs but their traffic.
//
// The published servers were recorded with our data in their database. Their
// times are cut to the second; of their events ours have more fields, behind
// the published ones, and the stream of events has a last event, which the
// published client does not take for one.
package origin
