// Package svg draws: lines, marks and words with coordinates in pixels, on
// scales with ticks that people can read, and with the widths of words known
// before any browser lays them out, so that none covers another. It knows
// nothing of results; what is drawn is its caller's business.
package svg
