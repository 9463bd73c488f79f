package rest

import (
	"net/http"

	"wirelab/hermes/access"
)

// recognise puts who shows a token of the policy into the request's context. A caller without a token is
// treated as an unknown caller: it is identify that knows which addresses are open.
func (d *API) recognise(r *http.Request) *http.Request {
	if d.config.Access == nil {
		return r
	}
	ctx, err := d.config.Access.Bearer(r.Context(), r.Header.Values("Authorization"))
	if err != nil {
		return r
	}
	return r.WithContext(ctx)
}

// recognised refuses who showed no token of the policy, and says what was wrong.
func (d *API) recognised(r *http.Request) error {
	if _, ok := access.From(r.Context()); ok {
		return nil
	}
	_, err := d.config.Access.Bearer(r.Context(), r.Header.Values("Authorization"))
	return err
}
