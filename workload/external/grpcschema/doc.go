// Package grpcschema reads the schema of a gRPC service that is not ours: by reflection from its server, from a set
// of descriptors (protoset), or compiled from .proto files. With it, JSON requests are encoded before the first
// call, and replies are decoded to JSON if they must be read. It makes no call of the service itself, and knows
// neither loads nor which replies are right.
package grpcschema
