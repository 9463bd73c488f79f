// Package origin contains the bytes that the programs of the published route guide
// send, as they were recorded, and the replies that they must get. Its tests replay
// these bytes against our servers, so that statements about existing clients do not
// depend on our own clients. It knows the servers only by their bindings, and the
// programs only by their traffic.
package origin
