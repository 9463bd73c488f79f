package resulttest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// Arm is an arm with its true costs.
type Arm struct {
	Name     string
	Protocol string
	// Server and Client are libraries; empty: the usual ones. Driver is the plan's.
	Server, Client, Driver string
	Multiplexed            bool
	// Transport, Framing and Encoding are what the protocol consists of; empty: those in its name, and Protocol
	// Buffers.
	Transport, Framing, Encoding string
	Secure                       bool
	Data                         string        // set
	Connections                  int           // in the plan
	ServerCPU                    time.Duration // per call
	ClientCPU                    time.Duration // per call
	Response                     time.Duration // median, with one call in flight
	// Floor is the same against a server that does nothing; 0 means three tenths of Response.
	Floor time.Duration
	// Sent and Received are bytes per call; 0 means 100. ServerAllocs and ClientAllocs are heap allocations.
	Sent, Received             uint64
	ServerAllocs, ClientAllocs uint64
	// Database is where its server keeps its data; "" is memory, without measurements. DatabaseCPU is the database's
	// CPU time for a call; 0: it is inside the server.
	Database    string
	DatabaseCPU time.Duration
	// PoolWait is the share of a call's time, with 50 in flight, that it waits for a database connection.
	PoolWait float64
}

// Setting describes an artificial experiment.
type Setting struct {
	Name   string
	About  string
	Arms   []Arm
	Loads  []plan.Load
	Rounds int
	Seed   uint64
	// Noise is the standard deviation, as a share, of an arm's independent change from round to round; 0 means 0.02.
	Noise float64
	// Drift is that of the change that all arms share; 0 means 0.03.
	Drift float64
	Until float64
}

// began is when every artificial experiment began.
var began = time.Date(2026, time.November, 21, 14, 5, 12, 0, time.UTC)

// Make makes an artificial result. The same setting gives the same result.
func Make(s Setting) *result.Result {
	if s.Noise == 0 {
		s.Noise = 0.02
	}
	if s.Drift == 0 {
		s.Drift = 0.03
	}
	random := rand.New(rand.NewPCG(s.Seed, 1))
	r := &result.Result{
		Schema: result.Schema, Minor: result.Minor, ID: fmt.Sprintf("r-20261121-140512-%04x", s.Seed&0xffff),
		Began: began, Plan: makePlan(s), Command: "wirelab compare " + s.Name,
		Environment: environment(), Ending: result.RoundsDone,
		Placement: result.Placement{ServerCPUs: []int{0}, DriverCPUs: []int{1}},
	}
	for _, a := range s.Arms {
		if a.DatabaseCPU > 0 {
			r.Placement.DatabaseCPUs = r.Placement.ServerCPUs
		}
		r.Arms = append(r.Arms, result.Arm{
			Database: a.Database,
			Name:     a.Name, Protocol: a.Protocol, Transport: or(a.Transport, transport(a)), Framing: a.Framing,
			Encoding: or(a.Encoding, "Protocol Buffers"),
			Secure:   a.Secure, Data: a.Data, Multiplexed: a.Multiplexed, Server: or(a.Server, "net/http"),
			Client: or(a.Client, "net/http"), Driver: or(a.Driver, plan.DriverClient), Style: "idiomatic",
		})
	}
	shared := 0.0
	for n := range s.Rounds {
		shared = 0.8*shared + s.Drift*random.NormFloat64()
		round := result.Round{
			Began: began.Add(time.Duration(n) * 6 * time.Second),
			Noise: result.Noise{
				Steal: 0.002 + 0.002*random.Float64(), Others: 0.01 * random.Float64(),
				CPUPressure: 0.2, IOPressure: 0.001 * float64(n%5),
			},
		}
		for a := range s.Arms {
			for l := range s.Loads {
				round.Trials = append(round.Trials, trial(s, a, l, math.Exp(shared), random))
			}
		}
		r.Rounds = append(r.Rounds, round)
	}
	r.Ended = began.Add(time.Duration(s.Rounds) * 6 * time.Second)
	return r
}

func makePlan(s Setting) plan.Plan {
	p := plan.Plan{
		Name: s.Name, About: s.About, Workload: "routeguide", Operation: "GetFeature", Requests: "uniform",
		Loads: s.Loads, Rounds: plan.Rounds{Min: 10, Max: 100},
		Slices: 10, Slice: plan.Duration(50 * time.Millisecond), WarmUp: plan.Duration(200 * time.Millisecond),
		Until: s.Until, Seed: s.Seed, Pin: plan.PinAuto, Deadline: plan.Duration(10 * time.Second),
		Primary: plan.ServerCPU, Practical: stat.DefaultPractical, Equivalent: stat.DefaultEpsilon,
	}
	if len(s.Loads) > 0 && s.Loads[0].Open() {
		p.Slices, p.Slice, p.Primary = 3, plan.Duration(time.Second), plan.ResponseP99
	}
	for _, a := range s.Arms {
		p.Arms = append(p.Arms,
			plan.Arm{
				Name: a.Name, Protocol: a.Protocol, Server: a.Server, Client: a.Client, Driver: a.Driver,
				Data: a.Data, Connections: a.Connections,
			})
	}
	return p
}

// trial makes one arm under one load.
func trial(s Setting, a, l int, drift float64, random *rand.Rand) result.Trial {
	arm, load := s.Arms[a], s.Loads[l]
	own := func() float64 { return drift * math.Exp(s.Noise*random.NormFloat64()) }
	slices, window := 10, 500*time.Millisecond
	median := float64(arm.Response) * own()
	t := result.Trial{
		Arm: a, Load: l, Steady: true, Warmed: plan.Duration(200 * time.Millisecond),
		Response: &stat.Histogram{}, Service: &stat.Histogram{}, Lag: &stat.Histogram{}, Open: 1,
	}
	flight := float64(max(load.InFlight, 1))
	if load.Open() {
		slices, window = 3, 2700*time.Millisecond // the first tenth of each second is not measured
		due := load.Rate * window.Seconds()
		if load.Arrivals != plan.Constant {
			due += math.Sqrt(due) * random.NormFloat64()
		}
		t.Planned = uint64(math.Round(due))
		t.OK = t.Planned
		times(t.Service, t.OK, median, 1)
		times(t.Response, t.OK, 1.01*median, 1)
		times(t.Lag, t.OK, 0.004*median, 1)
	} else {
		median *= math.Pow(flight, 0.85) // calls that wait for the server take longer
		perCall := times(&stat.Histogram{}, 1000, median, 1)
		t.OK = uint64(math.Round(flight * float64(window) / perCall))
		times(t.Response, t.OK, median, 1)
		t.Service = t.Response.Clone()
	}
	if !arm.Multiplexed && !load.Open() {
		t.Open = uint64(flight)
	}
	t.Window = plan.Duration(window)
	for i := range slices {
		t.Order = append(t.Order, i*len(s.Arms)+a)
	}
	t.Sent, t.Completed = t.OK, t.OK
	n := float64(t.OK)
	batching := math.Pow(flight, -0.2) // a busy server handles more calls for each wake-up
	t.Server = &result.Usage{
		CPU:         plan.Duration(n * float64(arm.ServerCPU) * own() * batching),
		Allocations: new(t.OK * arm.ServerAllocs), ResidentBytes: 22 << 20, GarbageCycles: new(uint64(9)),
	}
	t.Driver = &result.Usage{
		CPU:         plan.Duration(n * float64(arm.ClientCPU) * own() * batching),
		Allocations: new(t.OK*arm.ClientAllocs + random.Uint64N(50)), ResidentBytes: 31 << 20,
		GarbageCycles: new(uint64(12)),
	}
	t.WireSent, t.WireReceived = t.OK*cmp.Or(arm.Sent, 100), t.OK*cmp.Or(arm.Received, 100)
	for _, u := range []*result.Usage{t.Server, t.Driver} {
		u.Wall, u.Waited = t.Window, t.Window/50
		u.Preemptions, u.VoluntaryWaits, u.PauseP99 = t.OK/20, t.OK, plan.Duration(30*time.Microsecond)
	}
	t.Driver.Others = t.Window / 100
	if arm.Database != "" {
		database(&t, arm, flight, own)
	}
	t.Floor = floor(arm, load, median/float64(arm.Response))
	if load.Open() {
		t.Gaps = gaps(t.OK, load.Arrivals == plan.Constant)
	}
	return t
}

// database makes the use of the server's database, for calls that each commit once and find what they read in the
// cache.
func database(t *result.Trial, arm Arm, flight float64, own func() float64) {
	if arm.DatabaseCPU == 0 {
		t.Database = &result.DatabaseUse{Within: true}
		return
	}
	n := float64(t.OK)
	used := plan.Duration(n * float64(arm.DatabaseCPU) * own() * math.Pow(flight, -0.2))
	t.Database = &result.DatabaseUse{
		Processes: &result.DatabaseProcesses{
			CPU: used, Background: used / 50, Wall: t.Window + t.Window/10, CPUs: []int{0},
			Storage: &result.StorageUse{Written: 8192 * uint64(len(t.Order))},
		},
		Counts: &result.DatabaseCounts{
			WALBytes: 56 * uint64(len(t.Order)), BlocksRead: t.OK / 1000,
			BlocksHit: 3 * t.OK, Commits: t.OK + 16,
		},
	}
	const size = 16
	t.Pool = &result.PoolUse{Size: size, Open: size, Taken: t.OK}
	if flight > size {
		t.Pool.Waited = t.OK * 2 / 3
		t.Pool.Waiting = plan.Duration(n * arm.PoolWait * t.Service.Mean())
	}
}

// floor makes what the arm's driver does against a server that does nothing. slower is the factor for all times in
// the round.
func floor(arm Arm, load plan.Load, slower float64) *result.Floor {
	median := float64(arm.Floor)
	if median == 0 {
		median = 0.3 * float64(arm.Response)
	}
	median *= slower
	const window = 100 * time.Millisecond
	rate := load.Rate
	if !load.Open() {
		rate = float64(max(load.InFlight, 1)) / (median / 1e9)
	}
	f := &result.Floor{
		Window: plan.Duration(window), Completed: uint64(rate * window.Seconds()),
		Service: &stat.Histogram{},
	}
	times(f.Service, f.Completed, median, 1)
	f.Calls, f.DriverCPU = f.Completed, plan.Duration(0.8*float64(f.Completed)*float64(arm.ClientCPU))
	return f
}

// gaps are the times between n calls, in millionths of their mean, without noise.
func gaps(n uint64, even bool) *stat.Histogram {
	h := &stat.Histogram{}
	if even {
		h.RecordN(1e6, n)
		return h
	}
	for i := range uint64(points) {
		u := (float64(i) + 0.5) / points
		h.RecordN(int64(-1e6*math.Log1p(-u)), n*(i+1)/points-n*i/points)
	}
	return h
}

// times records n durations of a log-normal distribution with the given median, evenly over its quantiles and so
// without noise. It returns their mean.
func times(h *stat.Histogram, n uint64, median, scale float64) float64 {
	sum := 0.0
	for i, q := range law(scale) {
		share := n*(uint64(i)+1)/points - n*uint64(i)/points
		h.RecordN(int64(median*q), share)
		sum += median * q
	}
	return sum / points
}

// points is the number of quantiles that represent a distribution.
const points = 2000

// law is the log-normal distribution with median 1 and a given scale, as quantiles.
func law(scale float64) []float64 {
	if l, known := laws.Load(scale); known {
		return l.([]float64)
	}
	l := make([]float64, points)
	for i := range l {
		u := (float64(i) + 0.5) / points
		l[i] = math.Exp(0.25 * scale * math.Sqrt2 * math.Erfinv(2*u-1))
	}
	laws.Store(scale, l)
	return l
}

// laws caches them by scale: thousands of histograms use only a few, and the exponentials were a quarter of the cost
// of tests of results.
var laws sync.Map

func environment() result.Environment {
	return result.Environment{
		Host: "lab", OS: "linux", Kernel: "6.1.0", CPU: "Example CPU at 2.40GHz", CPUs: 2, MemoryBytes: 8 << 30,
		Governor: "unknown", ClockSource: "tsc", Virtual: "kvm", Go: "go1.26.8", Commit: "6e7d96c",
		Libraries: map[string]string{"google.golang.org/grpc": "v1.85.0"},
		Settings:  map[string]string{"GOMAXPROCS": "2"},
	}
}

// transport is the transport of an arm's protocol.
func transport(a Arm) string {
	switch {
	case a.Protocol == "http3-proto":
		return "HTTP/3"
	case a.Protocol == "netrpc":
		return "TCP"
	case a.Multiplexed:
		return "HTTP/2"
	}
	return "HTTP/1.1"
}

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}
