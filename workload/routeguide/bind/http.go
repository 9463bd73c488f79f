package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/routeguide"
)

// notAvro is why there is no Avro here.
const notAvro = "the route guide has no Avro schemas: encodings are compared on the directory, whose published " +
	"experiment has both"

// HTTP carries the route guide over plain HTTP, in every version, in protobuf
// and in JSON, streams as lines. RouteChat is a request and a reply under way
// at once: on one connection of HTTP/1.1 that is allowed, and net/http does it
// at both ends (the server when asked by EnableFullDuplex), though a proxy
// between them need not.
func HTTP() []wirelab.Binding[routeguide.Service] {
	var all []wirelab.Binding[routeguide.Service]
	for _, c := range httpbind.Carriages() {
		switch c.Encoding {
		case httprpc.JSON:
			all = append(all, restBinding(c, jsonStub, nil))
		case httprpc.Proto:
			all = append(all, restBinding(c, protoStub, protoHoles()))
		default:
			all = append(all, wirelab.Hole[routeguide.Service](c.Protocol, notAvro))
		}
	}
	return all
}
