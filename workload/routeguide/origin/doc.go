// Package origin holds the recorded requests of the programs of the published route guide, byte for byte, and the
// replies that they must get. Its tests replay them against our servers, so that statements about existing clients
// do not depend on clients of our own. It knows the servers only by their bindings, and the programs only by their
// traffic.
package origin
