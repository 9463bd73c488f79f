// Package access controls access to a broker: a policy names principals, their tokens,
// their rights on topics and their quotas; [Wrap] enforces it for the callers of a broker. The package also creates
// the TLS configuration of APIs and of nodes. It knows no API and no node: an API reads a token into the context
// ([Policy.Bearer]), and calls that nodes forward to each other pass below the wrapper and are not checked again.
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
// [NewToken] creates a token. The file has only its SHA-256, so a reader of the
// file cannot use the token. With two tokens at once, one can be replaced without an interruption.
//
// # Rights
//
// Rights refer to topics: by a name, or by a prefix of names followed by *; "*" means all.
// Names that begin with "hermes." belong to the broker, and dead letters come from
// every topic: a prefix covers them only if it begins with "hermes." too, or is "*".
//
//   - publish: messages, and producer ids, which a caller that may publish on any topic gets, up to its quota.
//     A producer id is a number and not a secret: a principal that may publish on a topic could use the id of another.
//   - subscribe: messages, in any group; reading groups. A group that does not exist is
//     created by its first member, up to its quota.
//   - admin: creating, changing and deleting topics and groups.
//   - admin and subscribe: a backup; of everything, with "*".
//   - admin and publish: a restore.
//   - cluster: changing the members and the leader.
//   - metrics: the numbers of all topics and groups at /metrics, with their names. Other principals see there
//     the topics that they may see elsewhere, and the rest as one sum.
//
// Each of the first three rights lets its holder see the topic itself. Every principal sees
// the nodes and their addresses, because clients need them to find the leader.
//
// A caller without a token is Unauthenticated. A caller without the right gets PermissionDenied, which does
// not say whether the topic exists; lists do not contain the topic.
//
// # Quotas
//
// All principals share the cluster's pools of groups and producers. The quota limits how many a principal may have
// created; without a number in the policy, a principal may have a tenth of each pool. 0 means none: such a principal
// may join existing groups, and publish without producers. A group beyond the quota is refused. For a producer beyond
// the quota, the principal's producer that was silent for longest is forgotten. If the whole pool is in use, a
// producer of the principal with the most producers is forgotten.
//
// The other quotas apply to each node, at its APIs: a principal that uses three nodes has three times as much.
// Without a number, a principal has 2,500 subscriptions. The rates of publishing are token buckets that hold one
// second's worth. A run of more than that passes when the bucket is full, and the next runs wait until the bucket has
// recovered. Refusals are ResourceExhausted. Publishes that the broker refuses afterwards count too.
package access
