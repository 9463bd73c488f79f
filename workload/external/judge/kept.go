package judge

import (
	"wirelab/workload/external/request"
)

// Kept returns the reply that others to the request of that index are compared with; false: there is none yet. Its body
// must not be changed.
func (j *Judge) Kept(index int) (request.Reply, bool) {
	if index < 0 || index >= MaxRequests {
		return request.Reply{}, false
	}
	r := j.known(index)
	if r == nil {
		return request.Reply{}, false
	}
	return request.Reply{Status: r.status, Body: r.body}, true
}
