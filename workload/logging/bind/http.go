package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/logging"
)

// HTTP carries the logger over plain HTTP in every version, in JSON and in
// protobuf; http1-json is the published service.
func HTTP() []wirelab.Binding[logging.Service] {
	var all []wirelab.Binding[logging.Service]
	for _, c := range httpbind.Carriages() {
		if c.Encoding == httprpc.Avro {
			all = append(all, wirelab.Hole[logging.Service](c.Protocol, notAvro))
			continue
		}
		all = append(all, restBinding(c))
	}
	return all
}
