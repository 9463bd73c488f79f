// Package messages is the kind of load that sends messages through a broker.
package messages
