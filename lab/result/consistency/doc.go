// Package consistency finds contradictions in a stored result, which may have been edited, or written by another
// program.
package consistency
