// Package metrics exports the state of a node to Prometheus. It counts messages at the broker interface, above the
// node and below the APIs ([Metrics.Wrap]), so that all APIs are counted alike. The node reports the times of disk
// writes and commits (the package is a [node.Observer]). All other values are read from the node when it is scraped.
// The package has a separate registry and knows no API.
//
// # Limits
//
// At most Options.Topics topics and as many groups have separate series: the oldest topics, and the groups
// with the largest lag. The others are summed up as topic ".other" and group ".other", which cannot be the name of a
// topic or group. The counts of a deleted topic go there too, so that sums never decrease. Only the leader reports
// groups, because otherwise the sum over three nodes would be three times the lag. A topic or a group that the caller
// may not see is also in the sum (Options.Visible), so that sums are the same for every caller.
package metrics
