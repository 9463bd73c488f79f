// Package hosts lets an experiment run on several machines. A host joins over NATS and dials out only; the runner
// starts servers and drivers on it, which take the same orders as those on its own machine (package control). Several
// drivers are one [experiment.Child] to the runner: the load is divided among them exactly, they start at one moment,
// and what they measured is joined, never averaged.
//
// Names travel over NATS, never commands: a host starts only its own program, as a server or as a driver. A host kills
// what it started when the runner has been silent for [Lease], so that nothing is left running when the runner, the
// host, NATS or the network between them dies.
//
// The package must not know what is measured, nor how a result is shown.
package hosts

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"wirelab"
	"wirelab/lab/result"
)

// Lease is how long a child lives without a sign of life from its runner, and how long a runner waits for a host.
const Lease = 3 * time.Second

// beatEvery is how often a runner shows that it lives, but for slices: see [quietMost].
const beatEvery = time.Second

// quietMost is the longest slice in which the runner sends nothing at all. With the lease it bounds how long a child
// outlives its runner to 5 s; in longer slices the runner sends one empty message each second.
const quietMost = 2 * time.Second

// childrenMost bounds the children of a host, of all runners together.
const childrenMost = 64

// Role is what a host may be used for.
type Role string

// The roles.
const (
	Server Role = "server"
	Driver Role = "driver"
)

// Roles returns every role.
func Roles() []Role { return []Role{Server, Driver} }

// Build tells whether two machines run the same wirelab.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"` // "" unless it was built from a repository without changes
	Program string `json:"program"`          // SHA-256 of the executable
}

// Same reports whether two builds are one: the same file, or one commit built for different processors.
func (b Build) Same(other Build) bool {
	return b.Program == other.Program || b.Commit != "" && b.Commit == other.Commit && b.Version == other.Version
}

// Info is what a host tells about itself.
type Info struct {
	Name  string `json:"name"`
	Roles []Role `json:"roles"`
	Build Build  `json:"build"`
	// Address is where its servers listen, without a port.
	Address string `json:"address"`
	// Machine is the same for hosts that share a machine.
	Machine     string             `json:"machine"`
	Environment result.Environment `json:"environment"`
	// Findings are the reasons why the machine is a bad place to measure on, as wirelab doctor shows them.
	Findings []string `json:"findings,omitempty"`
	Children int      `json:"children"` // that run now
}

// plays reports whether a host has a role.
func (i Info) plays(r Role) bool { return slices.Contains(i.Roles, r) }

// wordForm is what names of workloads, protocols and libraries are made of. It begins with no hyphen, so that none is
// taken for a flag.
var wordForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+/-]{0,127}$`)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckName tells what is wrong with the name of a host; it becomes part of a NATS subject.
func CheckName(name string) error {
	if nameForm.MatchString(name) {
		return nil
	}
	return wirelab.Errorf(wirelab.InvalidArgument,
		"%q is no name of a host: want lower-case letters, digits and hyphens, at most 63, such as d1", name)
}

// The subjects. A client that has the key may send on all of them; no other client can connect.
const everyHost = "wirelab.hosts"

func hostSubject(name, what string) string { return "wirelab.host." + name + "." + what }

func childSubject(id, what string) string { return "wirelab.child." + id + "." + what }

// start asks a host to start a child.
type start struct {
	ID    string `json:"id"`
	Role  Role   `json:"role"`
	Build Build  `json:"build"` // of the runner: another one is refused
	// Serve says what a server serves; nil of a driver.
	Serve *Serve `json:"serve,omitempty"`
}

// Serve names what a server serves.
type Serve struct {
	Workload string `json:"workload"`
	Protocol string `json:"protocol"`
	Library  string `json:"library,omitempty"`
	Data     string `json:"data,omitempty"`
	Inject   string `json:"inject,omitempty"`
	Null     bool   `json:"null,omitempty"`
}

// answer is a host's reply to all that it is asked.
type answer struct {
	Error string          `json:"error,omitempty"`
	Said  json.RawMessage `json:"said,omitempty"` // of a child: its first line, or its reply to an order
	CPU   time.Duration   `json:"cpu,omitempty"`  // that a child has used
}

// ask is an order for a child.
type ask struct {
	Order json.RawMessage `json:"order"`
	// Quiet is how long the runner will be silent from now on. The lease begins after it.
	Quiet time.Duration `json:"quiet,omitempty"`
}
