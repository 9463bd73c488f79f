// Package threshold has bounds on which a decision depends: how they are written, and what a result says about each.
package threshold
