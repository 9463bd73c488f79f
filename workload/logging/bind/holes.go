package bind

import (
	"wirelab"
	"wirelab/wire/graphql"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/httpbind"
	"wirelab/workload/logging"
)

// notAvro is why nothing here is in Avro.
const notAvro = "the published logger has no Avro, and an entry is two texts, on which encodings hardly differ; " +
	"Avro is compared with JSON and Protocol Buffers on the directory and the ledger"

// Holes returns the protocols that do not carry the logger, other than those of plain HTTP. Only the event streams
// are beyond the means of their protocol. The others were not built, since they would show nothing about the
// comparisons that the logger is made for.
func Holes() []wirelab.Binding[logging.Service] {
	const (
		notJSON = "the published logger speaks gRPC in Protocol Buffers; gRPC in JSON is compared with it on the " +
			"directory, " +
			"where encodings are compared"
		notGraphQL = "the published logger has no GraphQL, and an entry has no parts of which a caller would " +
			"choose some; " +
			"GraphQL is compared on the other workloads"
		notMany = "no operation of the logger is made of several calls, so that one document could ask for them " +
			"at once"
		oneReply = "server-sent events are a stream of replies, and every call of the logger has one reply: that " +
			"is plain " +
			"HTTP, as in "
	)
	return []wirelab.Binding[logging.Service]{
		wirelab.Hole[logging.Service](wiregrpc.ProtocolAvro(false), notAvro),
		wirelab.Hole[logging.Service](wiregrpc.ProtocolAvro(true), notAvro),
		wirelab.Hole[logging.Service](wiregrpc.ProtocolJSON(false), notJSON),
		wirelab.Hole[logging.Service](wiregrpc.ProtocolJSON(true), notJSON),
		wirelab.Hole[logging.Service](graphql.Protocol(), notGraphQL),
		wirelab.Hole[logging.Service](graphql.Composed(), notMany),
		wirelab.Hole[logging.Service](httpbind.SSE().Protocol, oneReply+"http1-json"),
		wirelab.Hole[logging.Service](httpbind.SSEH2C().Protocol, oneReply+"h2c-json"),
	}
}
