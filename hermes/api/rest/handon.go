package rest

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
)

const (
	// handedOn marks what a node asks another one for its caller, so that it goes one hop.
	handedOn = "Hermes-Handed-On"
	// replyLimit is on what the other node says: nothing, or a problem.
	replyLimit = 64 << 10
)

// guards reports whether callers must show who they are.
func (d *API) guards() bool { return d.config.Access != nil || d.config.Token != "" }

// handOn asks another node's API what was asked here, with the caller's own token, and answers with what that
// says. done is false, and nothing is answered, where that API cannot be reached: with TLS it must show a
// certificate of an authority that this machine trusts.
func (c *call) handOn(address string, body ackJSON) (done bool, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return false, err
	}
	ask, err := http.NewRequestWithContext(c.ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("Authorization", c.request.Header.Get("Authorization"))
	ask.Header.Set(handedOn, "1")
	// A connection for each: acknowledgements at another node than the one that delivers are few.
	road := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	reply, err := road.RoundTrip(ask)
	if err != nil {
		c.config.Log.WarnContext(c.ctx, "another node's API cannot be asked: the caller is sent there", "address",
			address,
			"why", err)
		return false, nil
	}
	defer reply.Body.Close()       //nolint:errcheck // it was read
	if reply.StatusCode/100 == 3 { // it is not the one either
		return false, nil
	}
	said, err := io.ReadAll(io.LimitReader(reply.Body, replyLimit))
	if err != nil {
		return false, err
	}
	if len(said) == 0 {
		c.begun = true
		c.writer.WriteHeader(reply.StatusCode)
		return true, nil
	}
	c.send(reply.StatusCode, reply.Header.Get("Content-Type"), said)
	return true, nil
}
