package access

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"
)

// SetClock makes a policy's time the test's, before it is used.
func (p *Policy) SetClock(now func() time.Time) { p.now = now }

// ServerTLSAt and PeerTLSAt are ServerTLS and PeerTLS with the test's time.
func ServerTLSAt(ctx context.Context, cert, key, ca string, log *slog.Logger,
	now func() time.Time,
) (*tls.Config, error) {
	k := &keys{files: [3]string{cert, key, ca}}
	return k.begin(ctx, log, now)
}

func PeerTLSAt(ctx context.Context, cert, key, ca string, log *slog.Logger, now func() time.Time) (*tls.Config, error) {
	k := &keys{files: [3]string{cert, key, ca}, peers: true}
	return k.begin(ctx, log, now)
}

// Parse reads a policy's text.
func Parse(file string, text []byte) error {
	_, err := parse(file, text)
	return err
}

// Covers reports whether a pattern covers a topic.
func Covers(text, topic string) (bool, error) {
	p, err := parsePattern(text)
	return p.covers(topic), err
}

// Feeds is how many subscriptions the policy watches.
func (p *Policy) Feeds() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.feeds)
}

// Looking is how Follow looks at the file.
func (p *Policy) Looking(ctx context.Context) func() (changed bool, err error) {
	var w watch
	return func() (bool, error) {
		changed, _, err := w.look(ctx, p)
		return changed, err
	}
}
