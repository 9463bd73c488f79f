// Package wild is a test suite: servers that behave as servers do outside a
// laboratory, before every driver of the wires they speak. Each call is
// answered rightly, as the protocol's RFC lets a client come to that, or ends
// in an error that names the cause. None hangs until its deadline.
//
// The servers answer what a cell's own server answers, and misbehave in how
// they say it: serve1_test.go is HTTP/1.1, serve2_test.go is HTTP/2. A new
// behaviour is a line in a table there. There is nothing to import here.
package wild
