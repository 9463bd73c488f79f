// Package kind describes a kind of load as one value: its metrics, its checks and its words. Package kinds lists them.
package kind
