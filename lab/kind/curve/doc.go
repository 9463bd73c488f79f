// Package curve is response time over offered rate: what arms do of one operation at rates that are the same
// for all of them.
package curve
