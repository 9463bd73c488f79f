// Package calls is the kind of load that makes calls.
package calls
