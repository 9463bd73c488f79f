//go:build !linux

package raw_test

const serveVariable = "WIRELAB_RAW_SERVE"

func serveAlone(string) int { return 1 }
