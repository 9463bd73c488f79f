// Package explain says what factors, of which arms are made, cost: alone, together, and on the way from one
// arm to another.
package explain
