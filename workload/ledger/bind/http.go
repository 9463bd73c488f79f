package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/workload/ledger"
)

// HTTP carries the ledger over plain HTTP, in every version and encoding,
// streams in JSON as lines; http1-json is the published service but for the
// stream, which is sse.go.
func HTTP() []wirelab.Binding[ledger.Service] {
	var all []wirelab.Binding[ledger.Service]
	for _, c := range httpbind.Carriages() {
		all = append(all, restBinding(c))
	}
	return all
}
