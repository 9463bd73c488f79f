package plan

// The ids of the metrics that an experiment yields for every arm and load. Each can be the primary one. Package
// result knows how each is measured; a test keeps the two lists the same.
const (
	ServerCPU         = "server-cpu"     // CPU time of the server per call
	DatabaseCPU       = "database-cpu"   // CPU time of the database's processes per call
	BackendCPU        = "backend-cpu"    // of server and database together
	PoolWait          = "pool-wait"      // for a connection to the database, per call
	Throughput        = "throughput"     // completed calls per second; closed loop only
	ResponseP50       = "response-p50"   // from when a call was due
	ResponseP90       = "response-p90"   //
	ResponseP99       = "response-p99"   //
	ResponseP999      = "response-p99.9" //
	ServiceP50        = "service-p50"    // from when a call was made
	ServiceP90        = "service-p90"    //
	ServiceP99        = "service-p99"    //
	ServiceP999       = "service-p99.9"  //
	ResponseMean      = "response-mean"  //
	ClientCPU         = "client-cpu"     // CPU time of the driver per call
	WireSent          = "wire-sent"      // bytes per call, driver to server
	WireReceived      = "wire-received"  // bytes per call, server to driver
	ServerAllocations = "server-allocs"  // heap allocations of the server per call
	ClientAllocations = "client-allocs"  // heap allocations of the driver per call
)

// The metrics of calls whose effect comes after their reply, from when a call was due: until a broker confirmed that
// it keeps the entry, and until the entry was stored.
const (
	ConfirmedP50 = "confirmed-p50"
	ConfirmedP99 = "confirmed-p99"
	StoredP50    = "stored-p50"
	StoredP90    = "stored-p90"
	StoredP99    = "stored-p99"
	StoredP999   = "stored-p99.9"
)

// MetricIDs returns the ids of all metrics, in the order in which reports show them.
func MetricIDs() []string {
	all := []string{
		ServerCPU, DatabaseCPU, BackendCPU, PoolWait, Throughput,
		ResponseP50, ResponseP90, ResponseP99, ResponseP999,
		ServiceP50, ServiceP90, ServiceP99, ServiceP999, ResponseMean,
		ClientCPU, WireSent, WireReceived, ServerAllocations, ClientAllocations,
		ConfirmedP50, ConfirmedP99, StoredP50, StoredP90, StoredP99, StoredP999,
	}
	for _, t := range kinds() {
		if t.metrics != nil {
			all = append(all, t.metrics()...)
		}
	}
	return all
}
