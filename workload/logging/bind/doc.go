// Package bind carries the logger over each protocol. Each protocol has one file, with
// server and client together. Clients of the origin find their calls where they expect
// them: LogService.WriteLog, POST /log and RPCServer.LogInfo. The package joins this
// domain with the wires; it knows no other workload, nothing of queues, and not how
// its cells are driven.
package bind
