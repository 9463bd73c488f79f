// Package bind carries the logger over each protocol, server and client side by
// side, one file each. What the origin's clients call is answered where they
// call it: LogService.WriteLog, POST /log and RPCServer.LogInfo. It joins
// exactly this domain with the wires; it knows no other workload, nothing of
// queues, and nothing of how its cells are driven.
package bind
