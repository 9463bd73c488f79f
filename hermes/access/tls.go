package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"wirelab/internal/input"
	"wirelab/wire/status"
)

// PEMLimit is the most bytes of a file of certificates or keys.
const PEMLimit = 4 << 20

// fresh is how long files are not looked at again.
const fresh = time.Second

// ServerTLS is the TLS of an API, from files in PEM: its certificate with what leads up to its authority, the
// key, and the authorities of clients, who must then show a certificate; "": none is asked for.
//
// It is TLS 1.3 or later. Files that change count from the next handshake on, at most a second later; while
// they cannot be read, or do not belong together, what was read before counts, and log learns it (nil: not
// reported). Connections that stand stay. ctx ends the first reading.
func ServerTLS(ctx context.Context, cert, key, clientCA string, log *slog.Logger) (*tls.Config, error) {
	k := &keys{files: [3]string{cert, key, clientCA}}
	return k.begin(ctx, log, time.Now)
}

// PeerTLS is the TLS between nodes, both for dialling and for being dialled: each shows
// its certificate and wants the other's to be of the authority. It is otherwise as
// [ServerTLS]. Who dials asks GetConfigForClient, with an empty ClientHelloInfo, for what
// the files have now.
func PeerTLS(ctx context.Context, cert, key, ca string, log *slog.Logger) (*tls.Config, error) {
	if ca == "" {
		return nil, status.Errorf(status.InvalidArgument, "TLS between nodes needs the authority of their certificates")
	}
	k := &keys{files: [3]string{cert, key, ca}, peers: true}
	return k.begin(ctx, log, time.Now)
}

// keys are files of TLS, and what was read of them.
type keys struct {
	files [3]string // certificate, key and authority, which may be ""
	peers bool
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex // guards all below
	config  *tls.Config
	texts   [3][]byte // at the last look, whether good or not
	checked time.Time
	failed  bool // the last look: it is reported once
}

func (k *keys) begin(ctx context.Context, log *slog.Logger, now func() time.Time) (*tls.Config, error) {
	if k.log, k.now = log, now; log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	if k.files[0] == "" || k.files[1] == "" {
		return nil, status.Errorf(status.InvalidArgument, "TLS needs both a certificate and its key")
	}
	texts, err := k.read(ctx)
	if err != nil {
		return nil, err
	}
	if k.config, err = k.make(texts); err != nil {
		return nil, err
	}
	k.texts, k.checked = texts, k.now()
	outer := k.config.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current(), nil }
	return outer, nil
}

// read reads the files.
func (k *keys) read(ctx context.Context) (texts [3][]byte, err error) {
	for i, file := range k.files {
		if file == "" {
			continue
		}
		texts[i], err = input.File(ctx, file, PEMLimit)
		coded := new(status.Error)
		switch {
		case errors.Is(err, context.Canceled):
			return texts, err
		case errors.As(err, &coded):
			return texts, status.Errorf(status.InvalidArgument, "TLS: %s: %s", file, coded.Message)
		case errors.Is(err, context.DeadlineExceeded):
			return texts, status.Errorf(status.InvalidArgument, "TLS: %s: nothing comes of it", file)
		case err != nil:
			return texts, status.Errorf(status.InvalidArgument, "TLS: %v", err)
		}
	}
	return texts, nil
}

// make makes the configuration of what was read.
func (k *keys) make(texts [3][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, status.Errorf(status.InvalidArgument, "TLS: certificate %s and key %s: %v", k.files[0], k.files[1],
			err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	if !k.peers {
		c.NextProtos = []string{"h2", "http/1.1"} // the server adds them to the outer configuration alone
	}
	if k.files[2] == "" {
		return c, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(texts[2]) {
		return nil, status.Errorf(status.InvalidArgument, "TLS: authority %s holds no certificate in PEM", k.files[2])
	}
	c.ClientCAs, c.ClientAuth = pool, tls.RequireAndVerifyClientCert
	if k.peers {
		c.RootCAs = pool
	}
	// A session that is taken up again would let in whom an authority that has gone vouched for.
	c.SessionTicketsDisabled = true
	return c, nil
}

// current is the configuration of the files as they are.
func (k *keys) current() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if now.Sub(k.checked) < fresh {
		return k.config
	}
	// A handshake waits for no file for long: one that has become a FIFO may have no writer.
	ctx, cancel := context.WithTimeout(context.Background(), fresh)
	texts, err := k.read(ctx)
	cancel()
	k.checked = k.now()
	if err == nil {
		if slices.EqualFunc(texts[:], k.texts[:], slices.Equal[[]byte]) {
			k.failed = false
			return k.config
		}
		k.texts = texts
		var next *tls.Config
		if next, err = k.make(texts); err == nil {
			k.config, k.failed = next, false
			k.log.Info("certificates were read again", "certificate", k.files[0])
			return k.config
		}
		k.failed = false // another fault than the one told
	}
	if !k.failed {
		k.failed = true
		k.log.Error("certificates cannot be read again; those from before are shown", "error", err)
	}
	return k.config
}
