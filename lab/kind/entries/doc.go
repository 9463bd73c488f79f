// Package entries is the kind of load whose calls hand over entries that are followed until they are stored.
package entries
