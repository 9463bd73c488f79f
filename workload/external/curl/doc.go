// Package curl reads curl command lines as people write them, as documentation shows them, and as browsers copy
// them ("Copy as cURL", for bash and for cmd). It starts no process and knows no protocol: it turns the request that a
// command would send into a value. An unknown option that changes the request is refused by its name.
package curl
