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
	"Avro stands beside JSON and Protocol Buffers on the directory and the ledger, where encodings are compared"

// Holes are the protocols that do not carry the logger, beside those of plain
// HTTP. None but the event streams is beyond a protocol's means: they were not
// built, since nothing that the logger is compared for would be seen on them.
func Holes() []wirelab.Binding[logging.Service] {
	const (
		notJSON = "the published logger speaks gRPC in Protocol Buffers; gRPC in JSON stands beside it on the " +
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
