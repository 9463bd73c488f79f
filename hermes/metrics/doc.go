// Package metrics tells Prometheus how a node is doing. What goes in and out it counts at the broker, above the
// node and below the APIs ([Metrics.Wrap]), so that all APIs are counted alike; how long the disk and commits
// take the node tells it (it is a [node.Observer]); everything else it asks the node when it is scraped. It has
// its own registry and knows no API.
//
// # Bounds
//
// At most Options.Topics topics and as many groups have series of their own: the oldest topics, and the groups
// with the most lag. The rest is summed as topic ".other" and group ".other", which can be no topic's or
// group's name. What a deleted topic had counted goes there too, so that sums never fall. Groups are reported by
// the leader alone, or three nodes' sum would be three times the lag. Who asks and may not see a topic or a
// group finds it in the sum as well (Options.Visible), so that sums are the node's for every caller.
package metrics
