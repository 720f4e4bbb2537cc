package httpapi

import (
	"net/http"

	"example.org/parley"
)

// serveShare answers 201 for a new share and 200 for an existing one.
func serveShare(a *api, x *exchange) error {
	id, reader, err := a.shared(x)
	if err != nil {
		return err
	}
	share, made, err := a.engine.ShareSession(x.r.Context(), x.principal, id, reader)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
		x.w.Header().Set("Location", "/v1/sessions/"+id.String()+"/shares")
	}
	return sendJSON(x, status, share)
}

func serveUnshare(a *api, x *exchange) error {
	id, reader, err := a.shared(x)
	if err != nil {
		return err
	}
	if err := a.engine.UnshareSession(x.r.Context(), x.principal, id, reader); err != nil {
		return err
	}
	return x.sendNothing()
}

// shared returns the two sessions of a path; the audit records both.
func (a *api) shared(x *exchange) (id, reader parley.ID, err error) {
	if id, err = a.session(x); err != nil {
		return id, reader, err
	}
	if reader, err = x.pathID("reader"); err != nil {
		return id, reader, err
	}
	return id, reader, nil
}

func serveShares(a *api, x *exchange) error {
	args := x.arguments()
	direction, paging := args.text("direction"), args.paging()
	if args.err != nil {
		return args.err
	}
	if direction != "" && direction != "out" && direction != "in" {
		return parley.InvalidField("direction", "is not one of out, in")
	}
	id, err := a.session(x)
	if err != nil {
		return err
	}
	shares, err := a.engine.Shares(x.r.Context(), x.principal, id, direction == "in", paging)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, page[parley.Share](shares))
}
