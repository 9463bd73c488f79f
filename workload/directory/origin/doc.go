// Package origin is what the programs of the published directory send, byte for
// byte, and the replies that they must get. Its tests replay that against our
// servers, so that what is said of existing clients does not rest on clients of
// our own. It knows the servers by their bindings alone, and has nothing of the
// programs but their traffic.
//
// The traffic over HTTP was recorded from the published demo. That over gRPC was
// made by hand from the published sources, since the framework mu-rpc, which its
// programs need, could not be had.
package origin
