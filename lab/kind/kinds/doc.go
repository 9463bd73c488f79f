// Package kinds is every kind of load that there is, and how an arm did under a load of any.
package kinds
