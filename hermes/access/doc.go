// Package access says who may do what with a broker: a policy names principals, the tokens that they show,
// their rights by topic and their quotas; [Wrap] holds a broker's callers to it. It also makes the TLS of APIs
// and of nodes. It knows no API and no node: an API reads a token into the context ([Policy.Bearer]), and what
// nodes hand on to each other goes below the wrap and is not asked again.
//
// # The policy
//
// It is a YAML file:
//
//	principals:
//	  - name: billing
//	    tokens: [sha256-2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae]
//	    publish: [invoices]
//	    subscribe: [orders, shop.*]
//	    admin: [billing.*]
//	    cluster: false
//	    metrics: false
//	    quota:
//	      messages_per_second: 1000
//	      bytes_per_second: 10485760
//	      subscriptions: 20
//	      groups: 10
//	      producers: 100
//
// A token is made by [NewToken]; the file has its SHA-256 alone, so who reads the
// file cannot use it. Two tokens at once let one be replaced without a gap.
//
// # Rights
//
// They are by topic: its name, or a beginning of names with * behind it; "*" is all.
// Names that begin with "hermes." belong to the broker, and dead letters come from
// every topic: a beginning covers them only if it begins so too, or is "*".
//
//   - publish: messages, and producer ids, which a caller that may publish on any topic gets, up to its quota.
//     A producer id is a number and no secret: of those who may publish on a topic, one could use another's.
//   - subscribe: messages, in any group; reading groups. A group that is not there is
//     made by its first member, up to its quota.
//   - admin: making, changing and deleting topics and groups.
//   - admin and subscribe: a backup; of everything, on "*".
//   - admin and publish: a restore.
//   - cluster: changing who takes part and who leads.
//   - metrics: the numbers of all topics and groups at /metrics, with their names. Others see there
//     what they may see elsewhere, and the rest as one sum.
//
// Each of the first three lets its holder see the topic itself. Every principal sees
// the nodes and their addresses, since clients need them to find the leader.
//
// Who shows no token is Unauthenticated; who lacks a right gets PermissionDenied, and
// is not told whether the topic is there; it is not listed for him.
//
// # Quotas
//
// Groups and producers are one pool of the cluster. A principal may have so many that it made; who has no number
// in the policy may have a tenth of each. 0 is none: such a principal may join the groups that are there, and
// publish without producers. One group more is refused; for one producer more the principal's own is forgotten
// that was silent for longest. Where all places are taken, a producer of the principal goes that has most of them.
//
// The others hold on one node, at its APIs: a principal that uses three nodes has thrice as much. Subscriptions
// are 2,500 for who has no number. What may be published is a token bucket that holds one second's worth. A run
// of more than that passes when the bucket is full, and the next ones wait until it has paid. Refusals are
// ResourceExhausted, and so is what the broker refused afterwards counted.
package access
