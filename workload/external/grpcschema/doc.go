// Package grpcschema gets the schema of a gRPC service that is not ours: from the server by
// reflection, from a set of descriptors (protoset), or from .proto files. With the schema,
// JSON requests are encoded before the first call, and replies are converted to JSON if they must be
// read. It makes no call of the service itself, and knows neither the loads nor the rule for a correct reply.
package grpcschema
