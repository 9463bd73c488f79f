// Package origin is what the programs of the published route guide send, byte
// for byte as they were recorded from them, and the replies that they must get.
// Its tests replay that against our servers, so that what is said of existing
// clients does not rest on clients of our own. It knows the servers by their
// bindings alone, and has nothing of the programs but their traffic.
package origin
