package rabbitmq

import (
	"time"

	"wirelab"
	"wirelab/internal/process"
)

// Use is what a server has used so far.
type Use struct {
	// CPU is user and system time of the server and its helpers.
	CPU time.Duration
	// Read and Written are bytes from and to storage, what only passed through
	// the page cache left out; Storage tells whether they could be read.
	Read, Written uint64
	Storage       bool
	// CPUs are the cores that it may run on.
	CPUs []int
}

// Account tells what one run of a server has used: a restarted one has another.
// It is for one goroutine at a time.
type Account struct{ tree *process.Tree }

// OpenAccount opens the account of the server whose first process is pid, as
// [Server.PID] gives it. The error is [os.ErrProcessDone] where there is none.
func OpenAccount(pid int) (*Account, error) {
	if pid <= 0 {
		return nil, wirelab.Errorf(wirelab.NotFound, "the server does not run")
	}
	tree, err := process.NewTree(pid)
	if err != nil {
		return nil, err
	}
	return &Account{tree}, nil
}

// Account opens the account of the server as it runs now.
func (s *Server) Account() (*Account, error) { return OpenAccount(s.PID()) }

// PID is the process id of the server's first process.
func (a *Account) PID() int { return a.tree.Root() }

// Read returns what the server has used so far, by the kernel's clocks and
// counters, so that the server has nothing to do for it. The error is
// [os.ErrProcessDone] where it has ended.
func (a *Account) Read() (Use, error) {
	used, err := a.tree.Read()
	if err != nil {
		return Use{}, err
	}
	cpus, err := a.tree.Cores()
	if err != nil {
		return Use{}, err
	}
	return Use{CPU: used.CPU, Read: used.Read, Written: used.Written, Storage: used.Storage, CPUs: cpus}, nil
}
