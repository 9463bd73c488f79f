package bind

import "wirelab/workload/logging"

// Unchecked returns a stub's calls without the checks before them, so that a
// test can see what the server does that is sent what no stub of ours sends.
func Unchecked(service logging.Service) logging.Service { return service.(stub).calls }
