// Package origin contains the bytes that the programs of the published ledger
// send, as they were recorded, and the replies of the published servers. Its tests
// replay these bytes against our servers, so that statements about existing clients
// do not depend on our own clients. It knows the servers only by their bindings, and
// the programs only by their traffic.
//
// The published servers were recorded with our data in their database. They truncate
// times to the second. Our events have more fields, after the published ones, and our
// stream of events has a final event, which the published client does not treat as an
// event.
package origin
