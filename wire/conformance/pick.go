package conformance

import (
	"testing"

	"wirelab"
)

// Pick returns the binding of a protocol, for what tests ask of one binding in addition to the suite.
func Pick[S any](t testing.TB, all []wirelab.Binding[S], protocol string) wirelab.Binding[S] {
	t.Helper()
	var known []string
	for _, b := range all {
		if b.Protocol.Name == protocol {
			return b
		}
		known = append(known, b.Protocol.Name)
	}
	t.Fatal(wirelab.UnknownName("protocol", protocol, known))
	return wirelab.Binding[S]{}
}
