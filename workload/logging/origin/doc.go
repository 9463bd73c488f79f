// Package origin contains the bytes that the services of the published log pipeline
// send to its logger, as they were recorded, and what the replies must contain. Its
// tests replay these bytes against our servers, so that statements about existing
// clients do not depend on our own clients. It knows the servers only by their
// bindings, and the services only by their traffic.
package origin
