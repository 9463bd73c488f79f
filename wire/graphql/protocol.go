package graphql

import "wirelab"

// Protocol is what this room speaks, a request for each call.
func Protocol() wirelab.Protocol { return named("graphql") }

// Composed is the same wire, where one document asks for what is several calls
// elsewhere.
func Composed() wirelab.Protocol { return named("graphql-composed") }

func named(name string) wirelab.Protocol {
	return wirelab.Protocol{Name: name, Transport: "HTTP/1.1", Framing: "GraphQL", Encoding: "JSON", Network: "tcp"}
}
