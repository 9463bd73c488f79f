// Package origin is what the services of the published log pipeline send to its
// logger, byte for byte as they were recorded from them, and what must be in the
// replies. Its tests replay that against our servers, so that what is said of
// existing clients does not rest on clients of our own. It knows the servers by
// their bindings alone, and has nothing of the services but their traffic.
package origin
