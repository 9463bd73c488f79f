package plan

import (
	"path/filepath"

	"wirelab"
)

// TLS is how targets are reached over TLS. Servers that are started here have certificates
// of their own, and need none of it.
type TLS struct {
	// CA is a PEM file of the authorities to trust, in place of the system's.
	CA string `json:"ca,omitempty" yaml:"ca,omitempty"`
	// Cert and Key are PEM files of the certificate that a driver shows, and its key.
	Cert string `json:"cert,omitempty" yaml:"cert,omitempty"`
	Key  string `json:"key,omitempty" yaml:"key,omitempty"`
	// ServerName is the name that a target's certificate must have; empty: the target's host.
	ServerName string `json:"server_name,omitempty" yaml:"server_name,omitempty"`
	// Insecure takes any certificate.
	Insecure bool `json:"insecure,omitempty" yaml:"insecure,omitempty"`
}

// fileMax is the longest name of a file, in characters.
const fileMax = 4096

// Given reports whether anything is set.
func (t TLS) Given() bool { return t != TLS{} }

// In returns the same with the files that are named without a folder looked for in dir.
func (t TLS) In(dir string) TLS {
	for _, name := range []*string{&t.CA, &t.Cert, &t.Key} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(dir, *name)
		}
	}
	return t
}

// Check checks the settings by themselves; no file is read.
func (t TLS) Check() error {
	switch {
	case (t.Cert == "") != (t.Key == ""):
		return wirelab.Errorf(wirelab.InvalidArgument, "a client certificate is two files: give both cert and key")
	case t.Insecure && t.CA != "":
		return wirelab.Errorf(wirelab.InvalidArgument,
			"insecure takes any certificate, and ca says which to trust: leave one of them out")
	case t.ServerName != "" && !hostName.MatchString(t.ServerName):
		return bad("server_name", t.ServerName, "the name of a host, such as api.example.org")
	}
	return first(readable("ca", t.CA, fileMax), readable("cert", t.Cert, fileMax), readable("key", t.Key, fileMax))
}

// checkTLS checks that the settings are of something.
func (p Plan) checkTLS() error {
	if p.TLS.Given() && !p.remote() {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"ca, cert, key, server_name and insecure are for targets, and no arm has one; write "+
				"PROTOCOL,target=HOST:PORT, or leave them out")
	}
	return p.TLS.Check()
}
