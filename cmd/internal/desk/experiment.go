package desk

import (
	"time"

	"github.com/spf13/pflag"

	"wirelab/lab/databases"
	"wirelab/lab/plan"
	"wirelab/results/measure"
)

// AddCertificateFlag adds the flag; conduct reads what it says.
func AddCertificateFlag(flags *pflag.FlagSet, value *string) {
	flags.StringVar(value, "certificate", "",
		"the smallest difference that this machine can detect, for the report: auto (use the one of the last hour, or "+
			"measure for 5 s), new, none (default $"+measure.CertificateEnv+", else auto)")
}

// RegisterDatabase adds the flags that choose a database.
func RegisterDatabase(f *databases.Choice, flags *pflag.FlagSet) {
	flags.StringVar(&f.Kind, "db", "",
		"where servers keep their data: postgres, embedded, memory, or the `DSN` of a PostgreSQL "+
			"(default, if the workload has a database: $WIRELAB_DB, else the server of wirelab db start, else a "+
			"temporary "+
			"one, else embedded)")
	flags.IntVar(&f.Pool, "pool", 0, "`connections` to the database that each server holds (default 16)")
}

// AddDeadlineFlag adds the flag for the longest time of a call. usual describes the default.
func AddDeadlineFlag(flags *pflag.FlagSet, deadline *plan.Duration, usual string) {
	flags.DurationVar((*time.Duration)(deadline), "deadline", 0,
		"a call that takes longer has failed (default: "+usual+")")
}

// NetworkFlag is the flag that puts a network between driver and server.
type NetworkFlag struct{ spec string }

// Register adds the flag.
func (n *NetworkFlag) Register(flags *pflag.FlagSet) {
	flags.StringVar(&n.spec, "network", "",
		"network between driver and server: lan, cloud, wan, mobile or `settings` such as rtt=40ms,loss=0.1%; see "+
			"wirelab relay --help (default: plain loopback)")
}

// Apply replaces the network of a plan, if the flag was given.
func (n *NetworkFlag) Apply(p plan.Plan) plan.Plan {
	if n.spec != "" {
		p.Network = n.spec
	}
	return p
}

// SecureFlags say how to connect to targets over TLS. Every command that takes a target has them.
type SecureFlags struct{ plan.TLS }

// Register adds the flags.
func (s *SecureFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&s.CA, "ca", "",
		"of targets over TLS: PEM `file` of the authority to trust (default: the system's)")
	flags.StringVar(&s.Cert, "cert", "",
		"of targets over TLS: PEM `file` of the client certificate to show; with --key")
	flags.StringVar(&s.Key, "key", "", "of targets over TLS: PEM `file` of the key of --cert")
	flags.StringVar(&s.ServerName, "server-name", "",
		"of targets over TLS: the `name` that the certificate must have (default: the host of the target)")
	flags.BoolVar(&s.Insecure, "insecure", false, "of targets over TLS: take any certificate; the report says so")
}

// Apply replaces the settings of a plan by those that were given.
func (s *SecureFlags) Apply(p plan.Plan) plan.Plan {
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
			p.TLS.CA = "" // the plan's; giving both is an error
		}
	}
	return p
}
