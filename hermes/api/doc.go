// Package api has no code itself: its tests hold the APIs below it to one another. They run one table of cases
// through gRPC, REST and GraphQL, on the leader and on a follower of a real cluster, and want the same answers
// and the same codes of all. An API itself knows the broker alone.
package api
