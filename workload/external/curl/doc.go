// Package curl reads curl command lines as people write them, as documentation shows them, and as browsers copy
// them ("Copy as cURL", for bash and for cmd). It starts nothing and knows no protocol: it converts a command to
// the request that curl would send. An unknown option that would change the request is refused, by name.
package curl
