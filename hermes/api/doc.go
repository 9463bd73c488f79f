// Package api has no code itself: its tests compare the APIs below it. They run one table of cases
// through gRPC, REST and GraphQL, on the leader and on a follower of a real cluster, and expect the same replies
// and the same codes from all of them. An API itself knows only the broker.
package api
