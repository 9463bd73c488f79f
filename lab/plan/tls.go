package plan

import (
	"path/filepath"

	"wirelab"
)

// TLS says how targets are reached over TLS. Servers that wirelab starts have their own certificates, and need none
// of these fields.
type TLS struct {
	// CA is a PEM file of the certificate authorities to trust instead of the system's.
	CA string `json:"ca,omitempty" yaml:"ca,omitempty"`
	// Cert and Key are PEM files with the client certificate of the driver, and its key.
	Cert string `json:"cert,omitempty" yaml:"cert,omitempty"`
	Key  string `json:"key,omitempty" yaml:"key,omitempty"`
	// ServerName is the name that a target's certificate must have. Empty: the target's host.
	ServerName string `json:"server_name,omitempty" yaml:"server_name,omitempty"`
	// Insecure accepts any certificate.
	Insecure bool `json:"insecure,omitempty" yaml:"insecure,omitempty"`
}

// fileMax is the maximum length of a file name, in characters.
const fileMax = 4096

// Given reports whether anything is set.
func (t TLS) Given() bool { return t != TLS{} }

// In returns the settings with relative file names resolved against dir.
func (t TLS) In(dir string) TLS {
	for _, name := range []*string{&t.CA, &t.Cert, &t.Key} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(dir, *name)
		}
	}
	return t
}

// Check checks the settings. It reads no file.
func (t TLS) Check() error {
	switch {
	case (t.Cert == "") != (t.Key == ""):
		return wirelab.Errorf(wirelab.InvalidArgument, "a client certificate is two files: give both cert and key")
	case t.Insecure && t.CA != "":
		return wirelab.Errorf(wirelab.InvalidArgument,
			"insecure accepts any certificate, and ca says which to trust: leave one of them out")
	case t.ServerName != "" && !hostName.MatchString(t.ServerName):
		return bad("server_name", t.ServerName, "the name of a host, such as api.example.org")
	}
	return first(readable("ca", t.CA, fileMax), readable("cert", t.Cert, fileMax), readable("key", t.Key, fileMax))
}

// checkTLS checks that TLS settings are only given with a target.
func (p Plan) checkTLS() error {
	if p.TLS.Given() && !p.remote() {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"ca, cert, key, server_name and insecure are for targets, and no arm has one; write "+
				"PROTOCOL,target=HOST:PORT, or leave them out")
	}
	return p.TLS.Check()
}
