// Package consistency finds where a stored result contradicts itself: it may have been edited, or written by
// another program.
package consistency
