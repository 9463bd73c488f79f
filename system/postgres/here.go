package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab/internal/process"
)

// How far the time at which a process began may be from the one at which the
// server says that its backend began: that is noted when the new process runs
// for the first time, on a busy machine some time after it was made.
const (
	beganBefore = 2 * time.Second
	beganAfter  = 100 * time.Millisecond
)

// ofServer returns the tree of the server's processes; nil if they are not on this host. Where the connection
// goes tells nothing: a loopback address may lead to a container or through a tunnel, another one to this very
// host. So the backend is looked for among all processes: the one that has its number, in the innermost of the
// namespaces it is in, began when it began, and is called by its own name; and its parent is the server.
func ofServer(ctx context.Context, conn *pgx.Conn) (*process.Tree, error) {
	var pid int
	var age float64 // seconds
	asked := time.Now()
	err := conn.QueryRow(ctx, `SELECT pid, extract(epoch FROM clock_timestamp() - backend_start)::float8
		FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&pid, &age)
	if err != nil {
		return nil, err
	}
	answered := time.Now()
	old := time.Duration(age * float64(time.Second))
	candidates, err := process.KnownAs(pid)
	if err != nil {
		return nil, err
	}
	for _, backend := range candidates {
		at, err := process.StartedAt(backend.Began)
		if err != nil {
			return nil, err
		}
		if at.Before(asked.Add(-old-beganBefore)) || at.After(answered.Add(-old+beganAfter)) ||
			!called(backend.PID) || !called(backend.Parent) {
			continue
		}
		tree, err := process.NewTree(backend.Parent)
		if errors.Is(err, os.ErrProcessDone) {
			continue
		}
		return tree, err
	}
	return nil, nil
}

// called reports whether a process is called as a server's are.
func called(pid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.Contains(string(name), "postgres")
}
