package main

import (
	"github.com/spf13/pflag"

	"wirelab/results/measure"
)

// addCertificateFlag adds the flag; conduct reads what it says.
func addCertificateFlag(flags *pflag.FlagSet, value *string) {
	flags.StringVar(value, "certificate", "", "the smallest difference that this machine can detect, for the report: auto (use the one of the last hour, or measure for 5 s), new, none (default $"+measure.CertificateEnv+", else auto)")
}
