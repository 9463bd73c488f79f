package nats

import (
	"crypto/rand"
	"os"
	"time"

	"wirelab/internal/daemon"
)

// prefix begins the names of temporary directories, which hold a lock of the process that made them.
const prefix = "wirelab-nats-"

func password() string { return rand.Text() }

// makeDirectory makes a directory that is ours as long as the file is open, and removes those whose owners were
// killed: no other would.
func makeDirectory(parent string) (string, *os.File, error) {
	for _, left := range daemon.Left(parent, prefix, time.Now()) {
		// The server was in the process that held the lock.
		daemon.Reclaim(left, func() bool { return true })
	}
	return daemon.Make(parent, prefix, nil)
}
