package graphql

import "wirelab/wire/endpoint"

// Protocol is what this package speaks, a request for each call.
func Protocol() endpoint.Protocol { return named("graphql") }

// Composed is the same wire, where one document asks for data of several calls elsewhere.
func Composed() endpoint.Protocol { return named("graphql-composed") }

func named(name string) endpoint.Protocol {
	return endpoint.Protocol{Name: name, Transport: "HTTP/1.1", Framing: "GraphQL", Encoding: "JSON", Network: "tcp"}
}
