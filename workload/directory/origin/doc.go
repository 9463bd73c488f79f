// Package origin contains the bytes that the programs of the published directory
// send, and the replies that they must get. Its tests replay these bytes against our
// servers, so that statements about existing clients do not depend on our own
// clients. It knows the servers only by their bindings, and the programs only by
// their traffic.
//
// The HTTP traffic was recorded from the published demo. The gRPC traffic was
// made by hand from the published sources, because the framework that the programs
// need, mu-rpc, was not available.
package origin
