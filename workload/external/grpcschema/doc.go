// Package grpcschema is what is known of a service of gRPC that is not ours: asked of its server by
// reflection, read from a set of descriptors (protoset), or compiled from .proto files. With it
// requests in JSON become bytes before the first call, and replies become JSON where they must be
// read. It makes no call of the service itself, and knows neither the loads nor what is right.
package grpcschema
