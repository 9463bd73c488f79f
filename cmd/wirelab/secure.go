package main

import (
	"github.com/spf13/pflag"

	"wirelab/lab/plan"
)

// secureFlags say how targets are reached over TLS. Every command that takes a target has them.
type secureFlags struct{ plan.TLS }

func (s *secureFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.CA, "ca", "", "of targets over TLS: PEM `file` of the authority to trust (default: the system's)")
	flags.StringVar(&s.Cert, "cert", "", "of targets over TLS: PEM `file` of the client certificate to show; with --key")
	flags.StringVar(&s.Key, "key", "", "of targets over TLS: PEM `file` of the key of --cert")
	flags.StringVar(&s.ServerName, "server-name", "", "of targets over TLS: the `name` that the certificate must have (default: the host of the target)")
	flags.BoolVar(&s.Insecure, "insecure", false, "of targets over TLS: take any certificate; the report says so")
}

// apply gives a plan the settings that were typed, in place of its own.
func (s *secureFlags) apply(p plan.Plan) plan.Plan {
	for _, set := range []struct {
		into *string
		to   string
	}{{&p.TLS.CA, s.CA}, {&p.TLS.Cert, s.Cert}, {&p.TLS.Key, s.Key}, {&p.TLS.ServerName, s.ServerName}} {
		if set.to != "" {
			*set.into = set.to
		}
	}
	if s.CA != "" {
		p.TLS.Insecure = false
	}
	if s.Insecure {
		p.TLS.Insecure = true
		if s.CA == "" {
			p.TLS.CA = "" // the plan's; both typed are refused
		}
	}
	return p
}
