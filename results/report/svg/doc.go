// Package svg draws lines, marks and words with coordinates in pixels, and scales with readable ticks. It knows the
// widths of words before a browser lays them out, so that no word covers another. It must not know results.
package svg
