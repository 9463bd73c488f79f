// Package origin holds the recorded requests of the programs of the published directory, byte for byte, and the
// replies that they must get. Its tests replay them against our servers, so that statements about existing clients
// do not depend on clients of our own. It knows the servers only by their bindings, and the programs only by their
// traffic.
//
// The traffic over HTTP was recorded from the published demo. The gRPC traffic was made by hand from the published
// sources, since the framework mu-rpc, which its programs need, was not available.
package origin
