package external

import (
	"context"
	"net"

	"wirelab"
	"wirelab/internal/certs"
)

// TLS configures TLS for a wire, with the contents of the files.
type TLS struct {
	CA       []byte `json:"ca,omitempty"`
	Cert     []byte `json:"cert,omitempty"`
	Key      []byte `json:"key,omitempty"`
	Name     string `json:"name,omitempty"`
	Insecure bool   `json:"insecure,omitempty"`
}

// pemLimit is the maximum length in bytes of a file of certificates, or of a key.
const pemLimit = 512 << 10

// tls reads the files that a wire names.
func (w *preparing) tls(ctx context.Context, field string, text TLSText) (*TLS, error) {
	if text == (TLSText{}) {
		return nil, nil //nolint:nilnil // nothing is said of it
	}
	t := &TLS{Name: text.Name, Insecure: text.Insecure}
	for _, file := range []struct {
		into *[]byte
		name string
	}{{&t.CA, text.CA}, {&t.Cert, text.Cert}, {&t.Key, text.Key}} {
		if file.name == "" {
			continue
		}
		data, err := w.Read(ctx, file.name)
		if err != nil {
			return nil, wirelab.Public(err).Behind(field + ".tls: ")
		}
		if len(data) > pemLimit {
			return nil, bad(field+".tls", "%s has %d bytes, and certificates in PEM have at most %d", file.name,
				len(data), pemLimit)
		}
		*file.into = data
	}
	var to wirelab.Dialing
	if err := t.apply(&to); err != nil {
		return nil, wirelab.Public(err).Behind(field + ".tls: ")
	}
	return t, nil
}

// Reach is [WireText.Read], and also reads the files that the text names.
func (w WireText) Reach(ctx context.Context, field string, from Sources) (Wire, error) {
	wire, err := w.Read(field)
	if err != nil {
		return wire, err
	}
	wire.TLS, err = (&preparing{Sources: from}).tls(ctx, field, w.TLS)
	return wire, err
}

// apply sets the trusted authorities and the client certificate of a client over the wire.
func (t *TLS) apply(to *wirelab.Dialing) (err error) {
	if t == nil {
		return nil
	}
	to.ServerName, to.Insecure = t.Name, t.Insecure
	if t.CA != nil {
		if to.Roots, err = certs.Trust(t.CA); err != nil {
			return wirelab.Errorf(wirelab.InvalidArgument,
				"ca: there is no certificate in it; want PEM, which has -----BEGIN CERTIFICATE-----")
		}
	}
	if (t.Cert == nil) != (t.Key == nil) {
		return wirelab.Errorf(wirelab.InvalidArgument, "a client certificate is two files: give both cert and key")
	}
	if to.Certificates, err = certs.Show(t.Cert, t.Key); err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"cert and key do not belong together, or the key is encrypted: %v",
			err)
	}
	return nil
}

// Trust sets the TLS settings of a client over the wire.
func (w Wire) Trust(to *wirelab.Dialing) error {
	if err := w.TLS.apply(to); err != nil {
		return err
	}
	if w.Secure && to.ServerName == "" {
		to.ServerName = w.Authority // the address may be that of a socket or a proxy
		if host, _, err := net.SplitHostPort(w.Authority); err == nil {
			to.ServerName = host
		}
	}
	return nil
}
