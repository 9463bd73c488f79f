// Package origin holds the recorded requests that the services of the published log pipeline send to its logger,
// byte for byte, and the required contents of the replies. Its tests replay them against our servers, so that
// statements about existing clients do not depend on clients of our own. It knows the servers only by their
// bindings, and the services only by their traffic.
package origin
