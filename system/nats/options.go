// Package nats starts NATS servers with JetStream. [Start] holds one in a child
// process, which can be killed, accounted for and restarted, and [StartCluster] several;
// the child is the program that [Find] finds, or another that calls Serve of package
// system/nats/server. It knows addresses and directories. It does not know what is sent
// through a server, who its clients are, or how nats-server is called.
package nats

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/internal/daemon"
)

// Options say how a server runs. The zero value is one with a temporary
// directory, that has a message on disk before it acknowledges it.
type Options struct {
	// Directory keeps the streams, over restarts too; "": a temporary one,
	// removed at the end.
	Directory string `json:"directory,omitempty"`
	// Parent is where a temporary one is made; "": the system's place for such.
	Parent string `json:"parent,omitempty"`
	// Host is the address to listen at; "": 127.0.0.1. Port is there; 0: a free one.
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`
	// Hosts are those of a cluster's servers; nil: all at 127.0.0.1. See [StartCluster].
	Hosts []affinity.Host `json:"-"`
	// Certificate and Key are PEM texts; with them clients must use TLS. "": they must not.
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
	// Password of the user "wirelab"; "": a random one.
	Password string `json:"password,omitempty"`
	// SyncEvery is how often what was written is brought to the disk by fsync.
	// 0: before every acknowledgement, so that confirmed messages outlive a power
	// cut; else confirmed ones outlive this process, but only older ones the power
	// cut. NATS's own default is two minutes.
	SyncEvery time.Duration `json:"sync_every,omitempty"`
	// StoreLimit is how much the streams may hold, in bytes; 0: 16 GiB. A publish beyond that is refused.
	StoreLimit int64 `json:"store_limit,omitempty"`
	// Member is this server's place in a cluster; nil: it is alone. [StartCluster]
	// sets it.
	Member *Member `json:"member,omitempty"`
}

// Member is a server's place in a cluster: its name, where other members reach it, and
// where it reaches all of them, each as host:port.
type Member struct {
	Name string   `json:"name"`
	At   string   `json:"at"`
	All  []string `json:"all"`
}

// User is the only one that a server has.
const User = "wirelab"

const localhost = "127.0.0.1"

// storeLimit is how much streams may hold unless something else is said, in bytes.
const storeLimit = 16 << 30

// StartLimit is the longest that a server may take to be ready, the reading of
// what it kept included.
const StartLimit = 180 * time.Second

// URL returns a server's URL, which holds its password.
func (o Options) URL() string {
	u := url.URL{Scheme: "nats", User: url.UserPassword(User, o.Password), Host: o.Address()}
	return u.String()
}

// Address is where the server listens: host:port.
func (o Options) Address() string { return net.JoinHostPort(o.Host, strconv.Itoa(o.Port)) }

// Complete puts values in place of zero ones: an address that is free, a password, a
// directory. Remove is for the end.
func (o Options) Complete() (whole Options, remove func() error, err error) {
	remove = func() error { return nil }
	if o.Port < 0 || o.Port > 65_535 || o.StoreLimit < 0 || o.SyncEvery < 0 {
		return o, remove, wirelab.Errorf(wirelab.InvalidArgument,
			"a NATS server with port %d, store limit %d, sync every %v",
			o.Port, o.StoreLimit, o.SyncEvery)
	}
	if o.StoreLimit == 0 {
		o.StoreLimit = storeLimit
	}
	if o.Password == "" {
		o.Password = password()
	}
	if o.Host == "" {
		o.Host = localhost
	}
	if o.Port == 0 {
		if o.Port, err = daemon.FreePort(); err != nil {
			return o, remove, err
		}
	}
	if o.Directory == "" {
		if o.Parent == "" {
			o.Parent = os.TempDir()
		}
		d, owned, err := makeDirectory(o.Parent)
		if err != nil {
			return o, remove, fmt.Errorf("a directory for NATS: %w", err)
		}
		o.Directory = d
		remove = func() error { return errors.Join(os.RemoveAll(d), owned.Close()) }
	}
	return o, remove, nil
}
