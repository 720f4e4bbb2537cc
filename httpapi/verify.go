package httpapi

import (
	"net/http"

	"example.org/parley"
)

// verifyInput asks for a step of a verification.
type verifyInput struct {
	Place  parley.VerifyPlace `json:"place,omitempty" doc:"What next of the step before says; nothing begins a verification."`
	Anchor *parley.Anchor     `json:"anchor,omitempty" doc:"An end that the audit's chain had once, to hold the chain against."`
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
