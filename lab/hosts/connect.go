package hosts

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"wirelab"
	"wirelab/internal/certs"
)

// User is who a key without a name is of.
const User = "wirelab"

// Access is how NATS is reached.
type Access struct {
	URL string // nats://HOST:PORT, or tls://HOST:PORT
	// Key is what the key's file holds: a password, USER:PASSWORD, or the seed of an NKey. It is needed beyond
	// loopback.
	Key string
	// Authority is the PEM text of the authority to trust; "": the system's.
	Authority string
	// Name is shown to the server.
	Name string
	// Lasting is that the connection is tried again for ever, as a host does; else NATS must be there.
	Lasting bool
}

// Connect connects to NATS. A server that is not on this machine must have TLS and a key.
func Connect(ctx context.Context, a Access) (*nats.Conn, error) {
	u, err := a.check()
	if err != nil {
		return nil, err
	}
	options := []nats.Option{
		nats.Name(a.Name), nats.Timeout(Lease), nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2), // a link that is cut is noticed
		nats.NoCallbacksAfterClientClose(),
	}
	if a.Lasting {
		options = append(options, nats.MaxReconnects(-1))
	} else {
		options = append(options, nats.MaxReconnects(2))
	}
	signed, err := a.signed()
	if err != nil {
		return nil, err
	}
	options = append(options, signed...)
	if u.Scheme == "tls" {
		to := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
		if a.Authority != "" {
			if to.RootCAs, err = certs.Trust([]byte(a.Authority)); err != nil {
				return nil, fmt.Errorf("the authority of NATS: %w", err)
			}
		}
		options = append(options, nats.Secure(to))
	}
	nc, err := nats.Connect((&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), options...)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.Unavailable, "NATS at %s: %v", u.Host, err)
	}
	if ctx.Err() != nil {
		nc.Close()
		return nil, context.Cause(ctx)
	}
	return nc, nil
}

// check reads the URL, and refuses what would send the key, or orders without one, over a network in the open.
func (a Access) check() (*url.URL, error) {
	wrong := func(why string) error {
		return wirelab.Errorf(wirelab.InvalidArgument, "NATS at %q: %s", wirelab.Hide(a.URL, []string{a.Key}), why)
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" || u.Path != "" && u.Path != "/" {
		return nil, wrong("want nats://HOST:PORT, or tls://HOST:PORT")
	}
	if u.User != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"the URL of NATS at %s has a password in it, which other users can see: put it into a file, and give --key FILE",
			u.Host)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "4222")
	}
	if loopback(u.Hostname()) {
		return u, nil
	}
	switch {
	case u.Scheme != "tls":
		return nil, wrong("beyond this machine it needs TLS: give tls://" + u.Host)
	case strings.TrimSpace(a.Key) == "":
		return nil, wrong("beyond this machine it needs a key: give --key FILE")
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// signed is how the key is shown to the server.
func (a Access) signed() ([]nats.Option, error) {
	key := strings.TrimSpace(a.Key)
	switch {
	case key == "":
		return nil, nil
	case strings.HasPrefix(key, "SU") && !strings.Contains(key, ":"):
		pair, err := nkeys.FromSeed([]byte(key))
		if err != nil {
			break // a password that looks like one
		}
		public, err := pair.PublicKey()
		if err != nil {
			return nil, err
		}
		return []nats.Option{nats.Nkey(public, pair.Sign)}, nil
	}
	if user, password, named := strings.Cut(key, ":"); named {
		return []nats.Option{nats.UserInfo(user, password)}, nil
	}
	return []nats.Option{nats.UserInfo(User, key)}, nil
}
