package httpapi

import (
	"net/http"

	"example.org/parley"
)

// verifyInput asks for one step of a verification.
type verifyInput struct {
	Place  parley.VerifyPlace `json:"place,omitempty" doc:"The next of the previous step; empty to begin a verification."`
	Anchor *parley.Anchor     `json:"anchor,omitempty" doc:"An earlier end of the audit's chain, to check the chain against."`
}

func serveAnchor(a *api, x *exchange) error {
	anchor, err := a.engine.Anchor(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, anchor)
}

// serveVerify makes one step.
func serveVerify(a *api, x *exchange) error {
	var in verifyInput
	if err := checked(a, x, &in); err != nil {
		return err
	}
	step, err := a.engine.Verify(x.r.Context(), x.principal, in.Place, in.Anchor)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, step)
}
