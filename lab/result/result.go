// Package result is what an experiment measured, in the form that is stored,
// and the claims that follow from it by arithmetic alone. Everything printed
// about a result can be computed again from it, on a machine that never ran
// it: so it knows no workload, no wire and no engine.
package result

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Wrong is how many calls of a trial failed, whatever the kind.
func (t *Trial) Wrong() (n uint64) {
	for _, more := range t.Errors {
		n += more
	}
	return n
}

// Allocated is how many allocations a process made; known is false where nobody counted.
func (u *Usage) Allocated() (n uint64, known bool) {
	if u == nil || u.Allocations == nil {
		return 0, false
	}
	return *u.Allocations, true
}

// Count is a number that may not be known, as one of nothing then.
func Count(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// With is what was used in two stretches, as far as disturbances are judged by it.
func (u *Usage) With(next *Usage) *Usage {
	if u == nil {
		return next
	}
	if next == nil {
		return u
	}
	sum := *u
	sum.CPU += next.CPU
	sum.Wall += next.Wall
	sum.Waited += next.Waited
	sum.Runs += next.Runs
	sum.Others += next.Others
	if u.GarbageCycles != nil || next.GarbageCycles != nil {
		sum.GarbageCycles = new(Count(u.GarbageCycles) + Count(next.GarbageCycles))
	}
	sum.PauseP99 = max(u.PauseP99, next.PauseP99)
	return &sum
}

// Schema is the version of the stored form. It goes up when a field changes
// its meaning; a result with a higher one is refused, not guessed at.
const Schema = 1

// Minor is the version of the stored form within [Schema]. It goes up when a field is added; a result with a higher
// one is read as far as it is understood, and marked.
const Minor = 4

// Result is one experiment as it was run.
type Result struct {
	Schema int    `json:"schema"`
	Minor  int    `json:"minor,omitempty"` // 0 in results that are older than it
	ID     string `json:"id"`              // "r-20261121-140512-7f3a"
	// Label is the name that somebody gave it, as its store keeps it. It is no
	// part of what was measured: it is not in the text, nor in the digest.
	Label string `json:"-"`
	// Unread are the fields of its text that this wirelab does not know, since a later one wrote them:
	// "environment.gpu". Text is then the whole text, so that they are not lost where it is written again. Both are nil
	// without such fields.lds.
	Unread []string `json:"-"`
	Text   []byte   `json:"-"`
	// Began and Ended are wall-clock times of the whole experiment.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	// Plan is complete: it depends on no default.
	Plan plan.Plan `json:"plan"`
	// Command is the command line that gave it.
	Command string `json:"command,omitempty"`
	// Arms describes what each of Plan.Arms turned out to be; same length and order.
	Arms []Arm `json:"arms"`
	// Absent are the arms that were asked for beside those, and could not be
	// had here; in the order of their places. Of them nothing was measured.
	Absent      []Absent    `json:"absent,omitempty"`
	Environment Environment `json:"environment"`
	Rounds      []Round     `json:"rounds"`
	// Remade are rounds that the machine spoiled, and that were made again. They are not among Rounds.
	Remade []Remade `json:"remade,omitempty"`
	// Ending tells why there are no more rounds.
	Ending Ending `json:"ending"`
	// Placement tells where server and driver ran.
	Placement Placement `json:"placement"`
	// Network is the path between driver and server; nil: the loopback as it is.
	Network *Network `json:"network,omitempty"`
	// Certificate is what this machine could tell apart when the experiment
	// began; nil where that was not looked at.
	Certificate *Certificate `json:"certificate,omitempty"`
	// SelfTest is set where the result is of trials of wirelab itself.
	SelfTest *SelfTest `json:"self_test,omitempty"`
	// Capacity is set where the result is of a search for the highest rates at
	// which the arms keep an objective. Its rounds are not among Rounds.
	Capacity *Capacity `json:"capacity,omitempty"`
	// Calibration is what the arms did before a curve, from which its rates
	// were chosen; nil where they were given.
	Calibration []Calibrated `json:"calibration,omitempty"`
}

// Ending is the reason that an experiment ended.
type Ending string

// The endings.
const (
	WidthReached Ending = "width reached" // the interval was as narrow as asked for
	TimeUsed     Ending = "time used"     // plan.For was over
	RoundsDone   Ending = "rounds done"
	Interrupted  Ending = "interrupted" // by the user; complete rounds are kept
	Failed       Ending = "failed"      // no two arms were left to compare
)

// Arm is what an arm of the plan turned out to be.
type Arm struct {
	Name      string `json:"name"` // unique among the arms
	Protocol  string `json:"protocol"`
	Transport string `json:"transport"`
	Framing   string `json:"framing,omitempty"` // "" in results that are older than the word
	Encoding  string `json:"encoding"`
	Datagrams bool   `json:"datagrams,omitempty"` // over UDP, and not TCP
	Secure    bool   `json:"secure"`
	// TLS are the versions that its connections negotiated: "1.3". nil without TLS, and in
	// results that are older than the word.
	TLS         []string `json:"tls,omitempty"`
	Multiplexed bool     `json:"multiplexed"`
	// Addresses are those that connections to its target reached, at most some: a name may
	// have several. nil of a server that was started here, and in results that are older than the word.
	Addresses []string `json:"addresses,omitempty"`
	// Here is that its target is of the machine that this ran on, and Process what serves
	// there, if anybody knows. Of it what the kernel tells is known.
	Here    bool     `json:"here,omitempty"`
	Process *Process `json:"process,omitempty"`
	// Server is the library that serves it. Of a target nobody knows it but who runs it: it is
	// what the plan says, or "". Results of minor versions before 3 name our own there.
	Server string `json:"server"`
	Client string `json:"client"` // library
	Driver string `json:"driver"` // plan.DriverClient, plan.DriverRaw, or plan.DriverTool and a name; "" is the first
	Style  string `json:"style"`
	Data   string `json:"data,omitempty"` // set; "" is the workload's only one
	// Database is what its server kept its data in, with the version:
	// "PostgreSQL 15.18"; "" is memory.
	Database string `json:"database,omitempty"`
	// Broker is the message broker that its entries passed through, with the
	// version: "RabbitMQ 3.10.8". "" where there is none.
	Broker string `json:"broker,omitempty"`
	// Guarantee is what a caller's word stands for; nil where an arm is no
	// pipeline nor compared with one, and in results that are older than the word.
	Guarantee *Guarantee `json:"handover,omitempty"`
	// Compared is what is compared of replies of a service that is not ours, and what is not: "status and body…"; "" of
	// ours, whose replies are compared with a reference.
	Compared string `json:"compared,omitempty"`
	// Differs is how its replies differ from those of another version of the same service; "" if they do not.
	Differs string `json:"differs,omitempty"`
	// Floorless is why its trials have no floor; "" if they have.
	Floorless string `json:"floorless,omitempty"`
	// Out is why the arm was taken out of the experiment; "" if it was not.
	Out string `json:"out,omitempty"`
}

// Process is what serves at a target, with all that descends from it.
type Process struct {
	PIDs []int `json:"pids"` // one, or several that nobody of them started
	// ByPort is that nobody named it: it listens at the address.
	ByPort bool `json:"by_port,omitempty"`
	// CPUs are those that it was put on while it was measured; nil: it ran where it runs.
	// Unpinned is why it was not, though servers were to be.
	CPUs     []int  `json:"cpus,omitempty"`
	Unpinned string `json:"unpinned,omitempty"`
}

// Placement is where the processes ran: CPU numbers, nil when not pinned.
type Placement struct {
	ServerCPUs []int `json:"server_cpus,omitempty"`
	DriverCPUs []int `json:"driver_cpus,omitempty"`
	// RelayCPUs are those of the network's relays; see room experiment for why.
	RelayCPUs []int `json:"relay_cpus,omitempty"`
	// DatabaseCPUs are those of a database that we placed.
	DatabaseCPUs []int `json:"database_cpus,omitempty"`
}

// Environment is the machine and the build, as far as they can explain a figure.
type Environment struct {
	Host        string            `json:"host"`
	OS          string            `json:"os"`
	Kernel      string            `json:"kernel"`
	CPU         string            `json:"cpu"`
	CPUs        int               `json:"cpus"`
	MemoryBytes uint64            `json:"memory_bytes"`
	Governor    string            `json:"governor"`     // "unknown" where the kernel does not tell
	ClockSource string            `json:"clock_source"` // "tsc", "kvm-clock"
	Virtual     string            `json:"virtual,omitempty"`
	Go          string            `json:"go"`
	Commit      string            `json:"commit"` // "" unless built from a repository
	Dirty       bool              `json:"dirty,omitempty"`
	Libraries   map[string]string `json:"libraries"` // module to version
	Settings    map[string]string `json:"settings"`  // GOMAXPROCS, GOGC, … where set
}

// Round is one round: fresh processes, every arm under every load.
type Round struct {
	Began  time.Time `json:"began"`
	Trials []Trial   `json:"trials"`
	// Failures are the arms that did not get through the round. Such an arm
	// has no trial in it.
	Failures []Failure `json:"failures,omitempty"`
	// Cut is whether the experiment was interrupted in it: only trials that were over
	// are there. Rounds of loads of calls are left out then, since their arms take turns.
	Cut   bool  `json:"cut,omitempty"`
	Noise Noise `json:"noise"`
}

// Failure is an arm that failed in a round, and why.
type Failure struct {
	Arm int    `json:"arm"`
	Why string `json:"why"`
}

// Noise is what else happened on the machine while a round ran. Shares are of
// the wall time of all its CPUs, 0 to 1.
type Noise struct {
	Steal  float64 `json:"steal"`  // taken by the hypervisor
	Others float64 `json:"others"` // used by processes that are not the experiment's
	// CPUPressure and IOPressure are the shares of wall time in which some
	// task waited for a CPU, or for input and output (the kernel's PSI, "some"); the
	// experiment's own tasks are among them. Throttled is the time in which
	// its control group was held back. Negative where the kernel does not tell.
	CPUPressure float64       `json:"cpu_pressure"`
	IOPressure  float64       `json:"io_pressure"`
	Throttled   plan.Duration `json:"throttled"`
}

// Trial is one arm under one load in one round: its slices taken together.
type Trial struct {
	Arm  int `json:"arm"`  // index into Plan.Arms
	Load int `json:"load"` // index into Plan.Loads
	// Steady is whether the warm-up reached a steady state, and Warmed how long it took.
	Steady bool          `json:"steady"`
	Warmed plan.Duration `json:"warmed"`
	// Drifting is whether, though steady, a figure still had a trend when the
	// warm-up ended (Mann-Kendall, p < 0.01).
	Drifting bool `json:"drifting,omitempty"`
	// Order is the place in the round at which each slice ran, from 0.
	Order []int `json:"order"`
	// Window is the measured time: the sum of the slices.
	Window plan.Duration `json:"window"`
	// Drained is how long after the slices their last calls ended, summed.
	Drained plan.Duration `json:"drained,omitempty"`
	// Planned is the arrivals due in the window (open loop), Sent the calls
	// begun, OK those with the right reply, Completed those of OK that ended
	// inside the window. Errors counts the others by code.
	Planned   uint64            `json:"planned,omitempty"`
	Sent      uint64            `json:"sent"`
	OK        uint64            `json:"ok"`
	Completed uint64            `json:"completed"`
	Errors    map[string]uint64 `json:"errors,omitempty"`
	// Causes tell the failures of each kind apart, with the first message of each; nil in
	// results of an earlier wirelab.
	Causes stat.Causes `json:"causes,omitempty"`
	// Watched is the calls made while Usage and bytes were counted, where that
	// is more than OK: an open loop's slices have a head that is not recorded.
	Watched uint64 `json:"watched,omitempty"`
	// Response is time from when a call was due, Service from when it was
	// made, Lag the difference; each of OK calls, in ns.
	Response *stat.Histogram `json:"response"`
	Service  *stat.Histogram `json:"service"`
	Lag      *stat.Histogram `json:"lag"`
	// Server and Driver are what the two processes used during the slices.
	// Server is nil for a target that somebody else runs.
	Server *Usage `json:"server,omitempty"`
	Driver *Usage `json:"driver"`
	// Halves are what the server used in each half of the slices; nil where that is not
	// known, and in results that are older than the word.
	Halves *Halves `json:"halves,omitempty"`
	// Database is what was used behind the server; nil where nobody looked.
	// Pool is how the server's connections to it were used; nil where it has none.
	Database *DatabaseUse `json:"database,omitempty"`
	Pool     *PoolUse     `json:"pool,omitempty"`
	// Relay is what stood between the two; nil where nothing did.
	Relay *Relayed `json:"relay,omitempty"`
	// WireSent and WireReceived are bytes through the driver's sockets, TLS
	// and headers included; Connections those opened inside the window (R4).
	WireSent     uint64 `json:"wire_sent"`
	Payload      uint64 `json:"payload,omitempty"` // of WireSent: the requests' own bytes; 0 where the driver does not tell
	WireReceived uint64 `json:"wire_received"`
	Connections  uint64 `json:"connections"`
	// Open is how many connections the driver held when the window ended.
	Open uint64 `json:"open"`
	// Gaps is the time between sends in millionths of what the schedule put
	// there on average, and Late the arrivals that found no worker free when
	// they were due; both of the open loop.
	Gaps *stat.Histogram `json:"gaps,omitempty"`
	Late uint64          `json:"late,omitempty"`
	// Wake is the part of Lag that is the generator's own: of the calls that
	// somebody was free to make when they were due. The others, Late, the
	// calls in flight kept waiting, and so the service. Unsent arrivals were
	// never made, since that went on until the drain was over: Planned = Sent +
	// Unsent. Failed is due to end of the calls that failed and due to given up
	// of those never made, in ns. All are of the open loop, and nil or 0 in
	// results of an earlier wirelab.
	Wake   *stat.Histogram `json:"wake,omitempty"`
	Unsent uint64          `json:"unsent,omitempty"`
	Failed *stat.Histogram `json:"failed,omitempty"`
	// Punctual is Response without Wake, in ns: what it would have been with calls that
	// could be made when they were due made then. nil in the closed loop, and where nobody
	// knows who kept a call waiting.
	Punctual *stat.Histogram `json:"punctual,omitempty"`
	// Outside is Service without what was lost in the driver, in ns: no call would have taken less had its driver never
	// waited; 0 for those of which nobody knows. nil where the driver does not tell, and in results of an earlier
	// wirelab.
	Outside *stat.Histogram `json:"outside,omitempty"`
	// Told is that another program made the calls; nil of our own drivers.
	Told *Told `json:"told,omitempty"`
	// Steps are the calls of which each call of a chain is made, with the times of each; nil of a call that is single,
	// and in results that are older than the word. A step's times are of OK calls, from sent to the whole reply, in ns.
	Steps []Step `json:"steps,omitempty"`
	// Streams is what a load of streams tells beside times; nil of one that makes calls.
	Streams *Streams `json:"streams,omitempty"`
	// Parts is the CPU time of each process of a pipeline, by name; Server is of
	// all of them. nil where the server is one process.
	Parts map[string]plan.Duration `json:"parts,omitempty"`
	// Followed is what became of what the calls handed over, where they are
	// followed until it is stored; nil where a reply is all there is.
	Followed *Followed `json:"followed,omitempty"`
	// Messages is what became of the messages of a load that sends them; nil of another.
	Messages *Messages `json:"messages,omitempty"`
	// Floor is what the same driver did before a server that does nothing, in
	// the same round; nil where there was none: see [Arm.Floorless].
	Floor *Floor `json:"floor,omitempty"`
}

// Floor is a trial against a null responder.
type Floor struct {
	Window    plan.Duration   `json:"window"`
	Completed uint64          `json:"completed"`
	Service   *stat.Histogram `json:"service"` // ns
	// DriverCPU is what the driver used for Calls calls.
	DriverCPU plan.Duration `json:"driver_cpu"`
	Calls     uint64        `json:"calls"`
}

// WrongReply is the kind, in [Trial.Errors], of a reply that was not the
// oracle's. The other kinds are the codes of the vocabulary, and those the
// engine names.
const WrongReply = "wrong_reply"

// Calls is the number of calls that Usage and bytes are to be divided by.
func (t *Trial) Calls() uint64 { return max(t.Watched, t.OK) }

// Usage is what a process used over a stretch of time.
type Usage struct {
	CPU plan.Duration `json:"cpu"` // user + system, all threads
	// Allocations, AllocatedBytes and GarbageCycles are what only its runtime knows: nil where
	// nobody asked it. Results of minor versions before 3 have 0 in such a place.
	Allocations    *uint64 `json:"allocations,omitempty"`
	AllocatedBytes *uint64 `json:"allocated_bytes,omitempty"`
	VoluntaryWaits uint64  `json:"voluntary_switches"`
	Preemptions    uint64  `json:"involuntary_switches"`
	ResidentBytes  uint64  `json:"resident_bytes"` // at the end
	GarbageCycles  *uint64 `json:"gc_cycles,omitempty"`
	// Wall is how long the stretch was; 0 where that was not recorded.
	Wall plan.Duration `json:"wall,omitempty"`
	// Waited is the time its threads were ready to run and waited for a CPU,
	// summed over threads. PauseP99 is the 99th percentile of the pauses in
	// which garbage collection stopped it, the longest over several stretches.
	// Spun is the part of CPU that its clock burnt waiting; CPU is without it.
	Waited plan.Duration `json:"waited,omitempty"`
	// Runs is how often they got one; 0 in results of an earlier wirelab.
	Runs     uint64        `json:"runs,omitempty"`
	PauseP99 plan.Duration `json:"pause_p99,omitempty"`
	Spun     plan.Duration `json:"spun,omitempty"`
	// Others is the CPU time that was used on the cores this process may run
	// on and was not its own, from the kernel's ticks of 10 ms: of one stretch
	// it may be wrong by one tick a core either way, and so below 0.
	Others plan.Duration `json:"others,omitempty"`
}
