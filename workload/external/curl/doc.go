// Package curl reads command lines of curl as people write them, as documentation shows them, and as browsers copy
// them ("Copy as cURL", for bash and for cmd). It starts nothing and knows no protocol: it turns what a command would
// send into a request. An option that changes what is sent and is not known is refused, by name.
package curl
