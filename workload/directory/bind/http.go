package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/workload/directory"
)

// HTTP carries the directory over plain HTTP, in every version and encoding;
// http1-json is the published service.
func HTTP() []wirelab.Binding[directory.Service] {
	var all []wirelab.Binding[directory.Service]
	for _, c := range httpbind.Carriages() {
		all = append(all, restBinding(c))
	}
	return all
}
