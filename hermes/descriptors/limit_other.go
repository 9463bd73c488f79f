//go:build !unix

package descriptors

import "math"

// Limit is how many descriptors this process may have open: there is no such limit here.
func Limit() int { return math.MaxInt32 }
