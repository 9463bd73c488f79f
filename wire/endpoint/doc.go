// Package endpoint is the two ends that every wire serves and dials alike: an
// [Endpoint], a [Dialing], the [Protocol] between them, and the limits that
// both ends hold.
//
// A function that serves at an Endpoint answers calls until its context ends.
// Then it takes no new ones, waits for those in flight as [Endpoint.DrainTime]
// allows, closes the endpoint, and returns nil. Every goroutine that it
// started has ended when it returns.
//
// It knows neither the service there nor which library serves it.
package endpoint
