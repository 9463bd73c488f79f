package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"wirelab/wire/status"
)

// tokenMark begins every token of [NewToken], so that those who look for secrets in published messages find it.
const tokenMark = "hermes_"

// hashMark begins a hash in a policy. It tells a hash from a token that someone wrote there by mistake. A colon
// would make it a mapping for some readers of YAML.
const hashMark = "sha256-"

type digest = [sha256.Size]byte

// NewToken makes a token of 256 random bits, and the hash of it that a policy has for a principal's token. The
// token is never shown again.
func NewToken() (token, hash string) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails: it ends the process where it would
	token = tokenMark + hex.EncodeToString(secret[:])
	return token, Hash(token)
}

// Hash is a token as a policy has it.
func Hash(token string) string {
	d := sha256.Sum256([]byte(token))
	return hashMark + hex.EncodeToString(d[:])
}

// parseHash reads what [Hash] writes. Its error does not show the text, which may
// be a token.
func parseHash(text string) (d digest, ok bool) {
	digits, ok := strings.CutPrefix(text, hashMark)
	if !ok || len(digits) != hex.EncodedLen(len(d)) {
		return d, false
	}
	_, err := hex.Decode(d[:], []byte(digits))
	return d, err == nil
}

// Principal is who calls, as it proved by a token. The zero value is no caller.
type Principal struct {
	name   string
	digest digest // of the token that it showed: with it goes what was begun with it
}

// Name is the principal's name in the policy.
func (p Principal) Name() string { return p.name }

// String is the name.
func (p Principal) String() string { return p.name }

// GoString keeps the digest out of %#v.
func (p Principal) GoString() string { return "access.Principal(" + p.name + ")" }

type key struct{}

// With is a context in which a principal calls.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// From is who calls in a context; ok is false for no caller.
func From(ctx context.Context) (p Principal, ok bool) {
	p, ok = ctx.Value(key{}).(Principal)
	return p, ok && p.name != ""
}

// Errors of unknown callers. None says more than the caller does.
var (
	errNoToken = status.Errorf(status.Unauthenticated, "this needs a token: send authorization: Bearer …")
	errUnknown = status.Errorf(status.Unauthenticated, "the token is not known here, or no longer: ask for another")
)

// Bearer is a context in which the caller who shows the values of a header "authorization" calls. No value,
// several, another scheme than Bearer and a token that no one has are Unauthenticated. The token itself goes
// nowhere.
func (p *Policy) Bearer(ctx context.Context, values []string) (context.Context, error) {
	if len(values) != 1 {
		return ctx, errNoToken
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if token = strings.TrimSpace(token); !ok || token == "" || !strings.EqualFold(scheme, "Bearer") {
		return ctx, errNoToken
	}
	who, err := p.Authenticate(token)
	if err != nil {
		return ctx, err
	}
	return With(ctx, who), nil
}
