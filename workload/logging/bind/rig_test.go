package bind_test

import (
	"time"

	"wirelab/wire/conformance"
	"wirelab/workload/logging"
)

// patience bounds waits for what must happen; nothing passes by being quicker.
const patience = time.Minute

// pair is a binding with a server and the client that it is called by.
type pair = conformance.Pair[logging.Service]
