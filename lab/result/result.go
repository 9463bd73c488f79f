// Package result is what an experiment measured, in its stored form. Packages below it compute claims from it by
// arithmetic alone. Everything that is printed about a result can be computed again from it, on a machine that never
// ran it. So the package knows no workload, no protocol and no engine.
package result

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Wrong is the number of calls of a trial that failed, of any kind.
func (t *Trial) Wrong() (n uint64) {
	for _, more := range t.Errors {
		n += more
	}
	return n
}

// Allocated is the number of allocations of a process. known is false if they were not counted.
func (u *Usage) Allocated() (n uint64, known bool) {
	if u == nil || u.Allocations == nil {
		return 0, false
	}
	return *u.Allocations, true
}

// Count is the value of a number that may be unknown; 0 if it is.
func Count(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// With is the use in two periods, for the fields by which disturbances are judged.
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

// Schema is the version of the stored form. It increases when a field changes its meaning. A result with a higher
// version is refused.
const Schema = 1

// Minor is the version of the stored form within [Schema]. It increases when a field is added. A result with a higher
// version is read if possible, without the unknown fields, and marked.
const Minor = 4

// Result is one experiment as it was run.
type Result struct {
	Schema int    `json:"schema"`
	Minor  int    `json:"minor,omitempty"` // 0 in results from before the field existed
	ID     string `json:"id"`              // "r-20261121-140512-7f3a"
	// Label is a name that a user gave it. It is kept by the store, and is part of neither the text nor the digest.
	Label string `json:"-"`
	// Unread are the fields in its text that this wirelab does not know, because a later version wrote them:
	// "environment.gpu". Text is then the whole text, so that they are not lost when it is written again. Both are
	// nil if there are no such fields.
	Unread []string `json:"-"`
	Text   []byte   `json:"-"`
	// Began and Ended are the wall-clock times of the whole experiment.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	// Plan is complete: it depends on no default.
	Plan plan.Plan `json:"plan"`
	// Command is the command line that ran it.
	Command string `json:"command,omitempty"`
	// Arms describes each of Plan.Arms as it was run; same length and order.
	Arms []Arm `json:"arms"`
	// Absent are requested arms that were not available here, in the order of their places. Nothing was measured for
	// them.
	Absent      []Absent    `json:"absent,omitempty"`
	Environment Environment `json:"environment"`
	Rounds      []Round     `json:"rounds"`
	// Remade are rounds that the machine disturbed, and that were run again. They are not among Rounds.
	Remade []Remade `json:"remade,omitempty"`
	// Ending says why there are no more rounds.
	Ending Ending `json:"ending"`
	// Placement says on which CPUs server and driver ran.
	Placement Placement `json:"placement"`
	// Hosts are the machines that servers and drivers ran on, where the runner started them elsewhere; nil: its own.
	Hosts []Host `json:"hosts,omitempty"`
	// Network is the path between driver and server; nil: the unchanged loopback.
	Network *Network `json:"network,omitempty"`
	// Certificate is the calibration of this machine when the experiment began; nil if there was none.
	Certificate *Certificate `json:"certificate,omitempty"`
	// SelfTest is set if the result is from trials of wirelab itself.
	SelfTest *SelfTest `json:"self_test,omitempty"`
	// Capacity is set if the result is from a search for the highest rates at which the arms meet an objective. Its
	// rounds are not among Rounds.
	Capacity *Capacity `json:"capacity,omitempty"`
	// Calibration has the arms' rates before a curve, from which its rates were chosen; nil if the rates were given.
	Calibration []Calibrated `json:"calibration,omitempty"`
}

// Ending is the reason why an experiment ended.
type Ending string

// The endings.
const (
	WidthReached Ending = "width reached" // the interval was as narrow as requested
	TimeUsed     Ending = "time used"     // plan.For had passed
	RoundsDone   Ending = "rounds done"
	Interrupted  Ending = "interrupted" // by the user; complete rounds are kept
	Failed       Ending = "failed"      // fewer than two arms were left to compare
)

// Arm describes an arm of the plan as it was run.
type Arm struct {
	Name      string `json:"name"` // unique among the arms
	Protocol  string `json:"protocol"`
	Transport string `json:"transport"`
	Framing   string `json:"framing,omitempty"` // "" in results from before the field existed
	Encoding  string `json:"encoding"`
	Datagrams bool   `json:"datagrams,omitempty"` // over UDP instead of TCP
	Secure    bool   `json:"secure"`
	// TLS are the versions that its connections negotiated: "1.3". nil without TLS, and in results from before the
	// field existed.
	TLS         []string `json:"tls,omitempty"`
	Multiplexed bool     `json:"multiplexed"`
	// Addresses are those that connections to its target reached, up to a limit: a name may have several. nil for a
	// server that was started here, and in results from before the field existed.
	Addresses []string `json:"addresses,omitempty"`
	// Here reports that its target is on the machine that ran the experiment. Process is the process that serves
	// there, if it is known. The kernel's counters are then available.
	Here    bool     `json:"here,omitempty"`
	Process *Process `json:"process,omitempty"`
	// Server is the library that serves it. For a target it is what the plan says, or "". Results of minor versions
	// before 3 wrongly name our own library there.
	Server string `json:"server"`
	Client string `json:"client"` // library
	Driver string `json:"driver"` // plan.DriverClient, plan.DriverRaw, or plan.DriverTool and a name; "" is the first
	Style  string `json:"style"`
	Data   string `json:"data,omitempty"` // the data set; "" is the workload's only one
	// Database is where its server kept its data, with the version: "PostgreSQL 15.18"; "" is memory.
	Database string `json:"database,omitempty"`
	// Broker is the message broker that its entries passed through, with the version: "RabbitMQ 3.10.8"; "" if there
	// was none.
	Broker string `json:"broker,omitempty"`
	// DeliveryGuarantee is what a success guarantees to a caller. It is nil if the arm is no pipeline and is compared
	// with none, and in results from before the field existed.
	Guarantee *Guarantee `json:"handover,omitempty"`
	// Compared says which parts of the replies of an external service are compared, and which are not: "status and
	// body…". It is "" for our own workloads, whose replies are compared with a reference.
	Compared string `json:"compared,omitempty"`
	// Differs says how its replies differ from those of another version of the same service; "" if they do not.
	Differs string `json:"differs,omitempty"`
	// Floorless says why its trials have no floor; "" if they have one.
	Floorless string `json:"floorless,omitempty"`
	// Out says why the arm was removed from the experiment; "" if it was not.
	Out string `json:"out,omitempty"`
}

// Process is the process that serves at a target, with its descendants.
type Process struct {
	PIDs []int `json:"pids"` // one, or several of which none started another
	// ByPort reports that no process was given, and that it was found because it listens at the address.
	ByPort bool `json:"by_port,omitempty"`
	// CPUs are the CPUs that it was pinned to during the measurement; nil: it was not pinned. Unpinned says why not,
	// if servers were to be pinned.
	CPUs     []int  `json:"cpus,omitempty"`
	Unpinned string `json:"unpinned,omitempty"`
}

// Placement says where the processes ran: CPU numbers, or nil if they were not pinned.
type Placement struct {
	ServerCPUs []int `json:"server_cpus,omitempty"`
	DriverCPUs []int `json:"driver_cpus,omitempty"`
	// RelayCPUs are those of the network's relays; see package experiment for the reason.
	RelayCPUs []int `json:"relay_cpus,omitempty"`
	// DatabaseCPUs are those of a database that wirelab pinned.
	DatabaseCPUs []int `json:"database_cpus,omitempty"`
}

// Environment describes the machine and the build, as far as they can explain a figure.
type Environment struct {
	Host        string            `json:"host"`
	OS          string            `json:"os"`
	Kernel      string            `json:"kernel"`
	CPU         string            `json:"cpu"`
	CPUs        int               `json:"cpus"`
	MemoryBytes uint64            `json:"memory_bytes"`
	Governor    string            `json:"governor"`     // "unknown" if the kernel does not report it
	ClockSource string            `json:"clock_source"` // "tsc", "kvm-clock"
	Virtual     string            `json:"virtual,omitempty"`
	Go          string            `json:"go"`
	Commit      string            `json:"commit"` // "" unless built from a repository
	Dirty       bool              `json:"dirty,omitempty"`
	Libraries   map[string]string `json:"libraries"` // module to version
	Settings    map[string]string `json:"settings"`  // GOMAXPROCS, GOGC, … if they are set
}

// Round is one round: fresh processes, every arm under every load.
type Round struct {
	Began  time.Time `json:"began"`
	Trials []Trial   `json:"trials"`
	// Failures are the arms that did not complete the round. Such an arm has no trial in it.
	Failures []Failure `json:"failures,omitempty"`
	// Cut reports whether the experiment was interrupted in this round. Then it only has the trials that were
	// complete. Such rounds are dropped for loads of calls, because their arms alternate.
	Cut   bool  `json:"cut,omitempty"`
	Noise Noise `json:"noise"`
}

// Failure is an arm that failed in a round, with the reason.
type Failure struct {
	Arm int    `json:"arm"`
	Why string `json:"why"`
}

// Noise is what else happened on the machine during a round. Shares are of the wall time of all its CPUs, 0 to 1.
type Noise struct {
	Steal  float64 `json:"steal"`  // taken by the hypervisor
	Others float64 `json:"others"` // used by processes that do not belong to the experiment
	// CPUPressure and IOPressure are the shares of wall time in which some task waited for a CPU, or for input and
	// output (the kernel's PSI, "some"). The experiment's own tasks are included. Throttled is the time in which its
	// control group was throttled. Negative values mean unknown.
	CPUPressure float64       `json:"cpu_pressure"`
	IOPressure  float64       `json:"io_pressure"`
	Throttled   plan.Duration `json:"throttled"`
}

// Trial is one arm under one load in one round, with all its slices together.
type Trial struct {
	Arm  int `json:"arm"`  // index into Plan.Arms
	Load int `json:"load"` // index into Plan.Loads
	// Steady reports whether the warm-up reached a steady state, and Warmed is how long it took.
	Steady bool          `json:"steady"`
	Warmed plan.Duration `json:"warmed"`
	// Drifting reports whether a figure still had a trend at the end of the warm-up, although it was steady
	// (Mann-Kendall, p < 0.01).
	Drifting bool `json:"drifting,omitempty"`
	// Order is the position of each slice in the round, from 0.
	Order []int `json:"order"`
	// Window is the measured time: the sum of the slices.
	Window plan.Duration `json:"window"`
	// Drained is how long after the slices their last calls ended, summed over slices.
	Drained plan.Duration `json:"drained,omitempty"`
	// Planned is the number of arrivals due in the window (open loop). Sent counts calls that began, OK those with a
	// right reply, and Completed those of OK that ended inside the window. Errors counts the others by code.
	Planned   uint64            `json:"planned,omitempty"`
	Sent      uint64            `json:"sent"`
	OK        uint64            `json:"ok"`
	Completed uint64            `json:"completed"`
	Errors    map[string]uint64 `json:"errors,omitempty"`
	// Causes separates the failures of each kind by cause, with the first message of each; nil in results of an
	// earlier wirelab.
	Causes stat.Causes `json:"causes,omitempty"`
	// Watched is the number of calls made while Usage and bytes were counted, if that is more than OK: the slices of
	// an open loop begin with a part that is not recorded.
	Watched uint64 `json:"watched,omitempty"`
	// Response is the time from when a call was due, Service the time from when it was made, and Lag the difference;
	// of each OK call, in ns.
	Response *stat.Histogram `json:"response"`
	Service  *stat.Histogram `json:"service"`
	Lag      *stat.Histogram `json:"lag"`
	// Server and Driver are what the two processes used during the slices. Server is nil for a target whose process
	// is not known.
	Server *Usage `json:"server,omitempty"`
	Driver *Usage `json:"driver"`
	// Drivers are what each of the drivers measured, where they ran on hosts; nil where the runner's machine drove.
	Drivers []DriverShare `json:"drivers,omitempty"`
	// Halves are what the server used in each half of the slices; nil if that is unknown, and in results from before
	// the field existed.
	Halves *Halves `json:"halves,omitempty"`
	// Database is the resource use of the server's database; nil if it was not measured. Pool is the use of the
	// server's connections to it; nil if it has none.
	Database *DatabaseUse `json:"database,omitempty"`
	Pool     *PoolUse     `json:"pool,omitempty"`
	// Relay is the relay between the two; nil if there was none.
	Relay *Relayed `json:"relay,omitempty"`
	// WireSent and WireReceived are bytes through the driver's sockets, including TLS and headers. Connections are
	// those opened inside the window (R4).
	WireSent     uint64 `json:"wire_sent"`
	Payload      uint64 `json:"payload,omitempty"` // the requests' part of WireSent; 0 if the driver does not report it
	WireReceived uint64 `json:"wire_received"`
	Connections  uint64 `json:"connections"`
	// Open is the number of connections that the driver held at the end of the window.
	Open uint64 `json:"open"`
	// Gaps are the times between sends, in millionths of the schedule's mean gap. Late is the number of arrivals that
	// found no free worker when they were due. Both are for the open loop.
	Gaps *stat.Histogram `json:"gaps,omitempty"`
	Late uint64          `json:"late,omitempty"`
	// Wake is the part of Lag that the generator itself caused: that of calls for which a worker was free when they
	// were due. The other calls, Late, had to wait for calls in flight, and so for the service. Unsent arrivals were
	// never made, because that waiting lasted until the drain ended: Planned = Sent + Unsent. Failed has the times
	// from due to the end of failed calls, and from due to giving up for calls never made, in ns. All are for the
	// open loop, and nil or 0 in results of an earlier wirelab.
	Wake   *stat.Histogram `json:"wake,omitempty"`
	Unsent uint64          `json:"unsent,omitempty"`
	Failed *stat.Histogram `json:"failed,omitempty"`
	// Punctual is Response without Wake, in ns: the response times if calls with a free worker had been made exactly
	// when due. It is nil in the closed loop, and if it is unknown what a call waited for.
	Punctual *stat.Histogram `json:"punctual,omitempty"`
	// Outside is Service without the time lost in the driver, in ns: no call would have taken less if its driver had
	// never waited. It is 0 for calls for which this is unknown. It is nil if the driver does not report it, and in
	// results of an earlier wirelab.
	Outside *stat.Histogram `json:"outside,omitempty"`
	// Told is set if another program made the calls; nil for our own drivers.
	Told *Told `json:"told,omitempty"`
	// Steps are the calls that each call of a chain consists of, with their times. It is nil for single calls, and in
	// results from before the field existed. A step's times are of OK calls, from sent to the whole reply, in ns.
	Steps []Step `json:"steps,omitempty"`
	// Streams has the counters of a load of streams; nil for a load of calls.
	Streams *Streams `json:"streams,omitempty"`
	// Parts is the CPU time of each process of a pipeline, by name. Server is the sum. It is nil if the server is one
	// process.
	Parts map[string]plan.Duration `json:"parts,omitempty"`
	// Followed is what happened to the entries that the calls handed over, if they are tracked until they are stored;
	// nil if only replies are checked.
	Followed *Followed `json:"followed,omitempty"`
	// Messages is what happened to the messages of a load of messages; nil for another load.
	Messages *Messages `json:"messages,omitempty"`
	// Floor is what the same driver did against a server that does nothing, in the same round; nil if there was no
	// floor: see [Arm.Floorless].
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

// WrongReply is the kind, in [Trial.Errors], of a reply that differed from the reference's. The other kinds are the
// codes of package status, and those of the engine.
const WrongReply = "wrong_reply"

// Calls is the number of calls by which Usage and bytes are divided.
func (t *Trial) Calls() uint64 { return max(t.Watched, t.OK) }

// Usage is what a process used over a period.
type Usage struct {
	CPU plan.Duration `json:"cpu"` // user + system, all threads
	// Allocations, AllocatedBytes and GarbageCycles are known only to its runtime: nil if they were not read. Results
	// of minor versions before 3 have 0 instead.
	Allocations    *uint64 `json:"allocations,omitempty"`
	AllocatedBytes *uint64 `json:"allocated_bytes,omitempty"`
	VoluntaryWaits uint64  `json:"voluntary_switches"`
	Preemptions    uint64  `json:"involuntary_switches"`
	ResidentBytes  uint64  `json:"resident_bytes"` // at the end
	GarbageCycles  *uint64 `json:"gc_cycles,omitempty"`
	// Wall is the length of the period; 0 if it was not recorded.
	Wall plan.Duration `json:"wall,omitempty"`
	// Waited is the time in which its threads were ready to run but waited for a CPU, summed over threads. PauseP99
	// is the 99th percentile of garbage collection pauses, the maximum over several periods. Spun is the CPU time
	// that its clock used for busy waiting; CPU does not include it.
	Waited plan.Duration `json:"waited,omitempty"`
	// Runs is how often the threads got a CPU; 0 in results of an earlier wirelab.
	Runs     uint64        `json:"runs,omitempty"`
	PauseP99 plan.Duration `json:"pause_p99,omitempty"`
	Spun     plan.Duration `json:"spun,omitempty"`
	// Others is the CPU time of other processes on the cores that this process may run on. It is computed from the
	// kernel's ticks of 10 ms: for one period it may be wrong by a tick per core in either direction, and so below 0.
	Others plan.Duration `json:"others,omitempty"`
}
